package headrace.conformance;

import java.util.Optional;
import java.util.Set;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.kstream.Repartitioned;
import org.apache.kafka.streams.kstream.TableJoined;
import org.apache.kafka.streams.processor.RecordContext;
import org.apache.kafka.streams.processor.api.ContextualProcessor;
import org.apache.kafka.streams.processor.api.Record;

/** Output topics and partitions that functions choose. */
final class Routing {
    private Routing() {
    }

    static void dynamicTopics(Plan plan, Params params) {
        topics(plan, Format.TEXT, "out-_", "out-0", "out-1", "out-2");
        plan.stream("in").to(Routing::topicOf, Produced.with(Plan.TEXT, Plan.TEXT));
    }

    private static String topicOf(String key, String value, RecordContext context) {
        return "out-" + (value == null ? "_" : value.length() % 3);
    }

    static void dynamicTopicsByContext(Plan plan, Params params) {
        topics(plan, Format.TEXT, "in-0-even-0", "in-0-even-1", "in-0-odd-0", "in-0-odd-1");
        plan.stream("in").to(Routing::place, Produced.with(Plan.TEXT, Plan.TEXT));
    }

    private static String place(String key, String value, RecordContext context) {
        return context.topic() + "-" + context.partition() + (context.offset() % 2 == 0 ? "-even-" : "-odd-")
            + context.timestamp() % 2;
    }

    static void dynamicTopicsOfCounts(Plan plan, Params params) {
        topics(plan, Format.NUMBER, "out-0", "out-1", "out-2");
        plan.stream("in").groupBy((key, value) -> Functions.head(value)).count().toStream().to(
            (key, count, context) -> "out-" + count % 3, Produced.with(Plan.TEXT, Serdes.Long()));
    }

    /** Some records go to a topic that the topology reads, and from there to another one. */
    static void dynamicTopicsThatAreRead(Plan plan, Params params) {
        topics(plan, Format.TEXT, "short");
        plan.stream("in").to(
            (key, value, context) -> Functions.isLong(key, value) ? "long" : "short",
            Produced.with(Plan.TEXT, Plan.TEXT));
        plan.write(plan.stream("long").mapValues(Functions::shout));
    }

    static void dynamicTopicsOfAProcessor(Plan plan, Params params) {
        topics(plan, Format.TEXT, "out-0", "out-1");
        Topology topology = new Topology();
        topology.addSource("source", Plan.TEXT.deserializer(), Plan.TEXT.deserializer(), "in");
        topology.addProcessor("doubling", Doubling::new, "source");
        topology.<String, String>addSink(
            "sink",
            (key, value, context) -> "out-" + context.timestamp() % 2,
            Plan.TEXT.serializer(),
            Plan.TEXT.serializer(),
            "doubling");
        plan.use(topology);
    }

    /** Forwards each record twice, the second time a millisecond later. */
    private static final class Doubling extends ContextualProcessor<String, String, String, String> {
        @Override
        public void process(Record<String, String> record) {
            context().forward(record);
            context().forward(record.withTimestamp(record.timestamp() + 1));
        }
    }

    static void partitionerOfASink(Plan plan, Params params) {
        plan.output("out", Format.TEXT, Format.TEXT);
        plan.stream("in").to("out", Produced.with(Plan.TEXT, Plan.TEXT, Routing::byValue));
    }

    static void partitionerOfADynamicTopic(Plan plan, Params params) {
        topics(plan, Format.TEXT, "out-_", "out-0", "out-1", "out-2");
        plan.stream("in").to(Routing::topicOf, Produced.with(Plan.TEXT, Plan.TEXT, Routing::byValue));
    }

    /** Drops records without a value; leaves the choice for long values to Kafka. */
    private static Optional<Set<Integer>> byValue(String topic, String key, String value, int partitions) {
        if (value == null) {
            return Optional.of(Set.of());
        }
        return Functions.isLong(key, value) ? Optional.empty() : Optional.of(Set.of(value.length() % partitions));
    }

    static void partitionerOfARepartition(Plan plan, Params params) {
        plan.writeNumbers(plan.stream("in")
            .selectKey((key, value) -> Functions.head(value))
            .repartition(Repartitioned.<String, String>as("again")
                .withKeySerde(Plan.TEXT)
                .withValueSerde(Plan.TEXT)
                .withStreamPartitioner((topic, key, value, partitions) -> byLength(key, partitions)))
            .groupByKey()
            .count());
    }

    private static Optional<Set<Integer>> byLength(String key, int partitions) {
        return Optional.of(Set.of(key.length() % partitions));
    }

    static void partitionersOfAForeignKeyJoin(Plan plan, Params params) {
        plan.write(plan.table("left").join(
            plan.table("right"),
            Functions::group,
            Functions::joined,
            TableJoined.with(
                (topic, key, value, partitions) -> byLength(key, partitions),
                (topic, key, value, partitions) -> byLength(key, partitions))));
    }

    private static void topics(Plan plan, Format<?> values, String... topics) {
        for (String topic : topics) {
            plan.output(topic, Format.TEXT, values);
        }
    }
}
