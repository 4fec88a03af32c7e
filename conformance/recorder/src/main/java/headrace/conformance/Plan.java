package headrace.conformance;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.KTable;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.kstream.Windowed;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.Stores;

/** The topology being built, and the formats of its output topics. Keys and values of all input topics are text. */
final class Plan {
    static final Serde<String> TEXT = Serdes.String();

    final StreamsBuilder builder = new StreamsBuilder();
    private final Map<String, Format<?>> keys = new TreeMap<>();
    private final Map<String, Format<?>> values = new LinkedHashMap<>();
    private Topology lowLevel;

    KStream<String, String> stream(String topic) {
        return builder.stream(topic, Consumed.with(TEXT, TEXT));
    }

    KTable<String, String> table(String topic) {
        return builder.table(topic, Consumed.with(TEXT, TEXT));
    }

    /** A table with a store named after its topic, or without a store. */
    KTable<String, String> table(String topic, boolean stored) {
        return stored ? builder.table(topic, Consumed.with(TEXT, TEXT), store(topic + "-store")) : table(topic);
    }

    KTable<String, String> versionedTable(String topic, Params params) {
        return builder.table(
            topic,
            Consumed.with(TEXT, TEXT),
            Materialized.as(Stores.persistentVersionedKeyValueStore(topic + "-store", params.ms("history"))));
    }

    static Materialized<String, String, KeyValueStore<Bytes, byte[]>> store(String name) {
        return Materialized.<String, String, KeyValueStore<Bytes, byte[]>>as(name)
            .withKeySerde(TEXT)
            .withValueSerde(TEXT);
    }

    void write(KStream<String, String> stream) {
        write(stream, "out");
    }

    void write(KStream<String, String> stream, String topic) {
        write(stream, topic, Format.TEXT, Format.TEXT);
    }

    void write(KTable<String, String> table) {
        write(table.toStream());
    }

    void writeNumbers(KTable<String, Long> table) {
        write(table.toStream(), "out", Format.TEXT, Format.NUMBER);
    }

    void writeWindows(KTable<Windowed<String>, String> table) {
        write(table.toStream(), "out", Format.WINDOWED, Format.TEXT);
    }

    void writeWindowNumbers(KTable<Windowed<String>, Long> table) {
        write(table.toStream(), "out", Format.WINDOWED, Format.NUMBER);
    }

    <K, V> void write(KStream<K, V> stream, String topic, Format<K> key, Format<V> value) {
        output(topic, key, value);
        stream.to(topic, Produced.with(key.serde(), value.serde()));
    }

    void output(String topic, Format<?> key, Format<?> value) {
        keys.put(topic, key);
        values.put(topic, value);
    }

    /** Uses a topology of the processor API instead of the builder's. */
    void use(Topology topology) {
        lowLevel = topology;
    }

    Topology topology() {
        return lowLevel == null ? builder.build() : lowLevel;
    }

    Iterable<String> outputs() {
        return keys.keySet();
    }

    Object readableKey(String topic, byte[] data) {
        return keys.get(topic).readable(topic, data);
    }

    Object readableValue(String topic, byte[] data) {
        return values.get(topic).readable(topic, data);
    }
}
