package headrace.conformance;

import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Set;
import java.util.function.Supplier;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.processor.api.ContextualFixedKeyProcessor;
import org.apache.kafka.streams.processor.api.ContextualProcessor;
import org.apache.kafka.streams.processor.api.FixedKeyProcessor;
import org.apache.kafka.streams.processor.api.FixedKeyProcessorSupplier;
import org.apache.kafka.streams.processor.api.FixedKeyRecord;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorSupplier;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.processor.api.RecordMetadata;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.StoreBuilder;
import org.apache.kafka.streams.state.Stores;

/** The processor API without punctuation. */
final class Processors {
    private Processors() {
    }

    /** Forwards as its input says: "all", "at 77", "only second", "only second at 5", "burst 99" (one at 99, one plain). */
    static void processForward(Plan plan, Params params) {
        Topology topology = new Topology();
        topology.addSource("source", Plan.TEXT.deserializer(), Plan.TEXT.deserializer(), "in");
        topology.addProcessor("obedient", Obedient::new, "source");
        for (String sink : new String[] {"first", "second"}) {
            topology.addSink(sink, sink, Plan.TEXT.serializer(), Plan.TEXT.serializer(), "obedient");
            plan.output(sink, Format.TEXT, Format.TEXT);
        }
        plan.use(topology);
    }

    static final class Obedient extends ContextualProcessor<String, String, String, String> {
        @Override
        public void process(Record<String, String> record) {
            String[] order = Functions.show(record.value()).split(" ");
            switch (order[0]) {
                case "at" -> context().forward(record.withTimestamp(Long.parseLong(order[1])));
                case "only" -> context().forward(
                    order.length > 2 ? record.withTimestamp(Long.parseLong(order[3])) : record, order[1]);
                case "burst" -> {
                    context().forward(record.withTimestamp(Long.parseLong(order[1])));
                    context().forward(record);
                }
                default -> context().forward(record);
            }
        }
    }

    /** Stores the last value of each key, and forwards it with the new one. */
    static void processStore(Plan plan, Params params) {
        plan.write(plan.stream("in").process(supplier(() -> new Remembering(), kept("last"))));
    }

    private static final class Remembering extends ContextualProcessor<String, String, String, String> {
        @Override
        public void process(Record<String, String> record) {
            if (record.key() == null) {
                context().forward(record.withValue("keyless"));
                return;
            }
            KeyValueStore<String, String> last = context().getStateStore("last");
            context().forward(record.withValue(Functions.joined(last.get(record.key()), record.value())));
            last.put(record.key(), record.value());
        }
    }

    /** Two processors share a store: records of "in" write to it, records of "other" read it. */
    static void processSharedStore(Plan plan, Params params) {
        Topology topology = new Topology();
        topology.addSource("writes", Plan.TEXT.deserializer(), Plan.TEXT.deserializer(), "in");
        topology.addSource("reads", Plan.TEXT.deserializer(), Plan.TEXT.deserializer(), "other");
        topology.addProcessor("writer", Writer::new, "writes");
        topology.addProcessor("reader", Reader::new, "reads");
        topology.addStateStore(kept("shared"), "writer", "reader");
        topology.addSink("sink", "out", Plan.TEXT.serializer(), Plan.TEXT.serializer(), "reader");
        plan.output("out", Format.TEXT, Format.TEXT);
        plan.use(topology);
    }

    static final class Writer extends ContextualProcessor<String, String, String, String> {
        @Override
        public void process(Record<String, String> record) {
            KeyValueStore<String, String> shared = context().getStateStore("shared");
            shared.put(record.key(), record.value());
        }
    }

    static final class Reader extends ContextualProcessor<String, String, String, String> {
        @Override
        public void process(Record<String, String> record) {
            KeyValueStore<String, String> shared = context().getStateStore("shared");
            context().forward(record.withValue(Functions.joined(record.value(), shared.get(record.key()))));
        }
    }

    /** Forwards the contents of its store as the value, in the order of the store. */
    static void processRange(Plan plan, Params params) {
        plan.write(plan.stream("in").process(supplier(() -> new Listing(), kept("rows"))));
    }

    private static final class Listing extends ContextualProcessor<String, String, String, String> {
        @Override
        public void process(Record<String, String> record) {
            KeyValueStore<String, String> rows = context().getStateStore("rows");
            rows.put(record.key(), record.value());
            StringBuilder listed = new StringBuilder();
            try (var all = rows.all()) {
                all.forEachRemaining(row -> listed.append(row.key).append('=').append(row.value).append(';'));
            }
            listed.append('|');
            try (var range = rows.range("b", "c")) {
                range.forEachRemaining(row -> listed.append(row.key));
            }
            context().forward(record.withValue(listed.toString()));
        }
    }

    /** A processor may change the key, so the count after it is repartitioned. */
    static void processAndCount(Plan plan, Params params) {
        plan.writeNumbers(plan.stream("in").process(Rekeying::new).groupByKey().count());
    }

    private static final class Rekeying extends ContextualProcessor<String, String, String, String> {
        @Override
        public void process(Record<String, String> record) {
            context().forward(record.withKey(Functions.head(record.value())));
        }
    }

    /** Forwards the value as the timestamp: it advances the stream time of the windows after it, not the task's. */
    static void processTimestampsAndCount(Plan plan, Params params) {
        plan.writeWindowNumbers(plan.stream("in")
            .process(Timing::new)
            .groupByKey()
            .windowedBy(Windows.timeWindows(params))
            .count());
    }

    private static final class Timing extends ContextualProcessor<String, String, String, String> {
        @Override
        public void process(Record<String, String> record) {
            context().forward(record.withTimestamp(Math.abs(Long.parseLong(record.value()))));
        }
    }

    /** Forwards a record's topic, partition, offset and timestamp, and the task's stream time, as the value. */
    static void processMetadata(Plan plan, Params params) {
        plan.write(plan.builder
            .<String, String>stream(List.of("in", "other"))
            .process(Timing100::new)
            .process(Describing::new));
    }

    private static final class Timing100 extends ContextualProcessor<String, String, String, String> {
        @Override
        public void process(Record<String, String> record) {
            context().forward(record.withTimestamp(record.timestamp() + 100));
        }
    }

    private static final class Describing extends ContextualProcessor<String, String, String, String> {
        @Override
        public void process(Record<String, String> record) {
            RecordMetadata metadata = context().recordMetadata().orElseThrow();
            context().forward(record.withValue(metadata.topic() + "/" + metadata.partition() + "/" + metadata.offset()
                + " at " + record.timestamp() + " of " + context().currentStreamTimeMs()));
        }
    }

    /** Forwards the names of a record's headers as the value, and adds a header. */
    static void processHeaders(Plan plan, Params params) {
        plan.write(plan.stream("in").process(Heading::new));
    }

    private static final class Heading extends ContextualProcessor<String, String, String, String> {
        @Override
        public void process(Record<String, String> record) {
            StringBuilder seen = new StringBuilder();
            for (Header header : record.headers()) {
                seen.append(header.key()).append(';');
            }
            Record<String, String> headed = record.withValue(seen.toString());
            headed.headers().add("seen", Functions.show(record.value()).getBytes(StandardCharsets.UTF_8));
            context().forward(headed);
        }
    }

    /** Forwards two values for each, the first with the value before it. */
    static void processValues(Plan plan, Params params) {
        plan.write(plan.stream("in").processValues(
            new FixedKeyProcessorSupplier<String, String, String>() {
                @Override
                public FixedKeyProcessor<String, String, String> get() {
                    return new Doubling();
                }

                @Override
                public Set<StoreBuilder<?>> stores() {
                    return Set.of(kept("before"));
                }
            }));
    }

    private static final class Doubling extends ContextualFixedKeyProcessor<String, String, String> {
        @Override
        public void process(FixedKeyRecord<String, String> record) {
            KeyValueStore<String, String> before = context().getStateStore("before");
            String key = Functions.show(record.key());
            context().forward(record.withValue(Functions.joined(before.get(key), record.value())));
            context().forward(record.withValue(Functions.shout(record.value())).withTimestamp(record.timestamp() + 1));
            before.put(key, record.value());
        }
    }

    /** A fixed-key processor cannot change the key, so there is no repartition. */
    static void processValuesAndCount(Plan plan, Params params) {
        plan.writeNumbers(plan.stream("in").processValues(Doubled::new).groupByKey().count());
    }

    private static final class Doubled extends ContextualFixedKeyProcessor<String, String, String> {
        @Override
        public void process(FixedKeyRecord<String, String> record) {
            context().forward(record);
            context().forward(record.withTimestamp(record.timestamp() + 5));
        }
    }

    static StoreBuilder<KeyValueStore<String, String>> kept(String name) {
        return Stores.keyValueStoreBuilder(Stores.persistentKeyValueStore(name), Serdes.String(), Serdes.String());
    }

    static ProcessorSupplier<String, String, String, String> supplier(
            Supplier<Processor<String, String, String, String>> make, StoreBuilder<?> store) {
        return new ProcessorSupplier<>() {
            @Override
            public Processor<String, String, String, String> get() {
                return make.get();
            }

            @Override
            public Set<StoreBuilder<?>> stores() {
                return Set.of(store);
            }
        };
    }
}
