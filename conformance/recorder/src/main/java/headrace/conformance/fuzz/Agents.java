package headrace.conformance.fuzz;

import static headrace.conformance.fuzz.NamedFunctions.clip;
import static headrace.conformance.fuzz.NamedFunctions.head;
import static headrace.conformance.fuzz.NamedFunctions.show;

import com.fasterxml.jackson.databind.JsonNode;
import java.time.Duration;
import java.time.Instant;
import java.util.Set;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.processor.PunctuationType;
import org.apache.kafka.streams.processor.api.FixedKeyProcessor;
import org.apache.kafka.streams.processor.api.FixedKeyProcessorContext;
import org.apache.kafka.streams.processor.api.FixedKeyProcessorSupplier;
import org.apache.kafka.streams.processor.api.FixedKeyRecord;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.ProcessorSupplier;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.KeyValueBytesStoreSupplier;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.StoreBuilder;
import org.apache.kafka.streams.state.Stores;

/** The processors of random topologies, by name: the same as in {@code conformance/fuzz/processors.py}. */
final class Agents {
    private Agents() {
    }

    static ProcessorSupplier<Object, Object, Object, Object> supplier(JsonNode node, String store) {
        return new ProcessorSupplier<>() {
            @Override
            public Processor<Object, Object, Object, Object> get() {
                return new Agent(node, store);
            }

            @Override
            public Set<StoreBuilder<?>> stores() {
                return kept(node.get("fn").textValue(), store);
            }
        };
    }

    static FixedKeyProcessorSupplier<Object, Object, Object> valueSupplier(String store) {
        return new FixedKeyProcessorSupplier<>() {
            @Override
            public FixedKeyProcessor<Object, Object, Object> get() {
                return new ValueAgent(store);
            }

            @Override
            public Set<StoreBuilder<?>> stores() {
                return kept("", store);
            }
        };
    }

    static Set<StoreBuilder<?>> kept(String task, String store) {
        KeyValueBytesStoreSupplier rows =
            task.equals("recent") ? Stores.lruMap(store, 2) : Stores.inMemoryKeyValueStore(store);
        return Set.of(Stores.keyValueStoreBuilder(rows, Serdes.String(), Serdes.String()));
    }

    private static final class Agent implements Processor<Object, Object, Object, Object> {
        private final JsonNode node;
        private final String task;
        private final String storeName;
        private ProcessorContext<Object, Object> context;
        private KeyValueStore<String, String> store;
        private boolean fired;

        Agent(JsonNode node, String storeName) {
            this.node = node;
            this.task = node.get("fn").textValue();
            this.storeName = storeName;
        }

        @Override
        public void init(ProcessorContext<Object, Object> given) {
            context = given;
            store = given.getStateStore(storeName);
            Duration interval = Duration.ofMillis(node.path("interval").longValue());
            switch (task) {
                case "tick_wall" -> context.schedule(interval, PunctuationType.WALL_CLOCK_TIME, this::tick);
                case "flush_wall" -> context.schedule(interval, PunctuationType.WALL_CLOCK_TIME, this::flush);
                case "tick_stream" -> context.schedule(
                    Instant.EPOCH, interval, PunctuationType.STREAM_TIME, time -> onGrid(time, interval.toMillis()));
                default -> { }
            }
        }

        /** Kafka Streams also fires at the first record, Headrace waits for the grid: a listed deviation. */
        private void onGrid(long time, long interval) {
            if (fired || time % interval == 0) {
                flush(time);
            }
            fired = true;
        }

        private void tick(long time) {
            context.forward(new Record<>("tick", String.valueOf(time), time));
        }

        private void flush(long time) {
            try (var rows = store.all()) {
                rows.forEachRemaining(row -> context.forward(new Record<>(row.key, clip(row.value + "@" + time), time)));
            }
            try (var rows = store.all()) {
                rows.forEachRemaining(row -> store.delete(row.key));
            }
        }

        @Override
        public void process(Record<Object, Object> record) {
            String value = show(record.value());
            switch (task) {
                case "later" -> context.forward(record.withValue(value).withTimestamp(record.timestamp() + 7));
                case "earlier" -> context.forward(
                    record.withValue(value).withTimestamp(Math.max(0, record.timestamp() - 9)));
                case "rekey" -> context.forward(record.withValue(value).withKey(head(record.value())));
                case "remember", "recent" -> {
                    String key = show(record.key());
                    context.forward(record.withValue(clip(show(store.get(key)) + "<" + value)));
                    store.put(key, value);
                }
                case "backwards" -> {
                    String key = show(record.key());
                    store.put(key, value);
                    StringBuilder listed = new StringBuilder();
                    try (var all = store.reverseAll(); var range = store.reverseRange(null, key)) {
                        all.forEachRemaining(row -> listed.append(row.key).append(row.value));
                        range.forEachRemaining(row -> listed.append(row.key).append(row.value));
                    }
                    context.forward(record.withValue(clip(listed.toString())));
                }
                case "tick_wall" -> context.forward(record.withValue(value));
                case "flush_wall", "tick_stream" -> {
                    String key = show(record.key());
                    store.put(key, clip(show(store.get(key)) + value));
                }
                default -> throw new IllegalArgumentException(task);
            }
        }
    }

    private static final class ValueAgent implements FixedKeyProcessor<Object, Object, Object> {
        private final String storeName;
        private FixedKeyProcessorContext<Object, Object> context;
        private KeyValueStore<String, String> store;

        ValueAgent(String storeName) {
            this.storeName = storeName;
        }

        @Override
        public void init(FixedKeyProcessorContext<Object, Object> given) {
            context = given;
            store = given.getStateStore(storeName);
        }

        @Override
        public void process(FixedKeyRecord<Object, Object> record) {
            String key = show(record.key());
            String value = show(record.value());
            context.forward(record.withValue(clip(show(store.get(key)) + ">" + value)));
            context.forward(record.withValue(value).withTimestamp(record.timestamp() + 1));
            store.put(key, value);
        }
    }
}
