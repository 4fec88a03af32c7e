package headrace.conformance.fuzz;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.Stores;

/** The stores of the rows of tables with text keys. */
final class Rows {
    /** The stores that are compared: those with a name that are not versioned. */
    final List<String> compared = new ArrayList<>();

    static boolean stored(JsonNode node) {
        return node.has("store") || node.has("history");
    }

    /** A versioned store, one with a name, or only the serdes. */
    Materialized<Object, Object, KeyValueStore<Bytes, byte[]>> of(JsonNode node, int number) {
        if (!stored(node)) {
            return Materialized.with(Kinds.key(node), Kinds.value(node));
        }
        Materialized<Object, Object, KeyValueStore<Bytes, byte[]>> store = node.has("history")
            ? Materialized.as(Stores.persistentVersionedKeyValueStore("s" + number, WindowOptions.ms(node, "history")))
            : Materialized.as("s" + number);
        if (!node.has("history")) {
            compared.add("s" + number);
        }
        return store.withKeySerde(Kinds.key(node)).withValueSerde(Kinds.value(node));
    }
}
