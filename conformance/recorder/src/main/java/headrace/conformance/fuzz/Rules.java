package headrace.conformance.fuzz;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.HashSet;
import java.util.Set;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.KTable;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.state.KeyValueStore;

/**
 * Rules of Headrace that Kafka Streams is made to follow, one by one, to explain a difference: if it then writes the same
 * records, the difference is that rule and nothing else. {@code conformance/fuzz/classify.py} lists them.
 */
@SuppressWarnings("unchecked")
final class Rules {
    private final Set<String> names = new HashSet<>();

    Rules(JsonNode listed) {
        listed.forEach(name -> names.add(name.textValue()));
    }

    boolean has(String name) {
        return names.contains(name);
    }

    KTable<Object, Object> suppress(KTable<Object, Object> table, JsonNode node, int number) {
        KTable<Object, Object> held = table.suppress(WindowOptions.suppressed(node));
        return has("suppress-sends-what-it-emitted") ? remembered(held, node, number) : held;
    }

    KTable<Object, Object> slidingWindows(KTable<Object, Object> table, JsonNode node, int number) {
        return has("first-change-replaces-nothing") ? remembered(table, node, number) : table;
    }

    /** With old values, which Kafka Streams does not send to what follows a windowed cogroup. */
    KTable<Object, Object> windowedCogroup(KTable<Object, Object> table, JsonNode node, int number) {
        return has("windowed-cogroups-send-old-values") ? remembered(table, node, number) : table;
    }

    /** The same table with a store of its own: a change replaces what was there, and nothing if nothing was. */
    private static KTable<Object, Object> remembered(KTable<Object, Object> table, JsonNode node, int number) {
        return table.toStream().toTable(remembered(node, number));
    }

    static Materialized<Object, Object, KeyValueStore<Bytes, byte[]>> remembered(JsonNode node, int number) {
        return Materialized.<Object, Object, KeyValueStore<Bytes, byte[]>>as("rows" + number)
            .withKeySerde(Kinds.serde(node.get("key").textValue())).withValueSerde(Kinds.value(node));
    }

    boolean storesTransformed(JsonNode node) {
        return has("transformed-rows-are-stored") && node.get("shape").textValue().equals("table");
    }

    KStream<Object, Object> merge(KStream<Object, Object> one, KStream<Object, Object> two) {
        return one.merge(has("merge-takes-a-stream-twice") ? two.peek((key, value) -> { }) : two);
    }
}
