package headrace.conformance;

import java.util.regex.Pattern;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Joined;
import org.apache.kafka.streams.kstream.KStream;

/** Sources that read all topics whose names match a pattern. */
final class Patterns {
    private static final String BOTH = "in|oth.*";

    private Patterns() {
    }

    static void pattern(Plan plan, Params params) {
        plan.write(stream(plan, BOTH).mapValues(Functions::shout));
    }

    static void patternAndTopic(Plan plan, Params params) {
        plan.write(stream(plan, "oth.*").mapValues(Functions::shout).merge(plan.stream("in")));
    }

    /** Two streams of the same pattern share a source. */
    static void patternTwice(Plan plan, Params params) {
        plan.write(stream(plan, BOTH).mapValues(Functions::shout), "loud");
        plan.write(stream(plan, BOTH).filter(Functions::isLong), "long");
    }

    static void twoPatterns(Plan plan, Params params) {
        plan.write(stream(plan, "i."));
        plan.write(stream(plan, "o.*r").mapValues(Functions::shout));
    }

    static void patternCount(Plan plan, Params params) {
        plan.writeNumbers(stream(plan, BOTH).groupByKey().count());
    }

    static void patternReduceByHead(Plan plan, Params params) {
        plan.write(stream(plan, BOTH).groupBy((key, value) -> Functions.head(value)).reduce(Functions::appended));
    }

    static void patternWindowCount(Plan plan, Params params) {
        plan.writeWindowNumbers(stream(plan, BOTH).groupByKey().windowedBy(Windows.timeWindows(params)).count());
    }

    static void patternToTable(Plan plan, Params params) {
        plan.write(stream(plan, BOTH).toTable().filter(Functions::isLong));
    }

    static void patternJoinTable(Plan plan, Params params) {
        plan.write(stream(plan, "str(eam)?").join(
            plan.table("table"), Functions::joined, Joined.with(Plan.TEXT, Plan.TEXT, Plan.TEXT)));
    }

    static void patternOfProcessors(Plan plan, Params params) {
        Topology topology = new Topology();
        topology.addSource("source", Plan.TEXT.deserializer(), Plan.TEXT.deserializer(), Pattern.compile(BOTH));
        topology.addProcessor("obedient", Processors.Obedient::new, "source");
        for (String sink : new String[] {"first", "second"}) {
            topology.addSink(sink, sink, Plan.TEXT.serializer(), Plan.TEXT.serializer(), "obedient");
            plan.output(sink, Format.TEXT, Format.TEXT);
        }
        plan.use(topology);
    }

    private static KStream<String, String> stream(Plan plan, String pattern) {
        return plan.builder.stream(Pattern.compile(pattern), Consumed.with(Plan.TEXT, Plan.TEXT));
    }
}
