package headrace.conformance.fuzz;

import static headrace.conformance.fuzz.NamedFunctions.clip;
import static headrace.conformance.fuzz.NamedFunctions.show;

import com.fasterxml.jackson.databind.JsonNode;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.KTable;
import org.apache.kafka.streams.kstream.ValueTransformerWithKey;
import org.apache.kafka.streams.kstream.ValueTransformerWithKeySupplier;
import org.apache.kafka.streams.processor.ProcessorContext;
import org.apache.kafka.streams.state.KeyValueStore;

/** The transformers of the rows of tables, by name: the same as in {@code conformance/fuzz/processors.py}. */
final class Transformers {
    private Transformers() {
    }

    static KTable<Object, Object> transformed(
            KTable<Object, Object> table, JsonNode node, int number, Rules rules, Rows rows, StreamsBuilder builder) {
        String task = node.get("fn").textValue();
        String store = "agent" + number;
        ValueTransformerWithKeySupplier<Object, Object, Object> supplier = () -> new Transformer(task, store);
        String[] stores = task.equals("remember") ? new String[] {store} : new String[0];
        if (stores.length > 0) {
            Agents.kept(task, store).forEach(builder::addStateStore);
        }
        if (Rows.stored(node)) {
            return table.transformValues(supplier, rows.of(node, number), stores);
        }
        return rules.storesTransformed(node)
            ? table.transformValues(supplier, Rules.remembered(node, number), stores)
            : table.transformValues(supplier, stores);
    }

    private static final class Transformer implements ValueTransformerWithKey<Object, Object, Object> {
        private final String task;
        private final String storeName;
        private KeyValueStore<String, String> store;

        Transformer(String task, String storeName) {
            this.task = task;
            this.storeName = storeName;
        }

        @Override
        public void init(ProcessorContext context) {
            store = task.equals("remember") ? context.getStateStore(storeName) : null;
        }

        @Override
        public Object transform(Object key, Object value) {
            return switch (task) {
                case "nil_b" -> value == null || show(value).contains("b") ? null : clip(show(value) + "?");
                case "shown" -> clip(show(key) + "=" + show(value));
                case "remember" -> remembered(show(key), show(value));
                default -> throw new IllegalArgumentException(task);
            };
        }

        private String remembered(String key, String value) {
            String before = show(store.get(key));
            store.put(key, value);
            return clip(before + "^" + value);
        }

        @Override
        public void close() {
        }
    }
}
