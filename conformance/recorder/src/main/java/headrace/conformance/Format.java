package headrace.conformance;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.kstream.Windowed;

/** The serde of keys or values of an output topic, and their form in a golden file. */
record Format<T>(Serde<T> serde) {
    static final Format<String> TEXT = new Format<>(Serdes.String());
    static final Format<Long> NUMBER = new Format<>(Serdes.Long());
    static final Format<Windowed<String>> WINDOWED = new Format<>(windowed());

    private static final ObjectMapper JSON = new ObjectMapper();

    Object readable(String topic, byte[] data) {
        return data == null ? null : serde.deserializer().deserialize(topic, data);
    }

    /** Start and end as JSON text: exact for every kind of window, which the windowed serdes' bytes are not. */
    @SuppressWarnings("unchecked")
    private static Serde<Windowed<String>> windowed() {
        return (Serde<Windowed<String>>) (Serde<?>) Serdes.serdeFrom(
            (topic, data) -> data == null ? null : json(data),
            (topic, data) -> parsed(data));
    }

    private static byte[] json(Object windowed) {
        Windowed<?> key = (Windowed<?>) windowed;
        Map<String, Object> fields = new LinkedHashMap<>();
        fields.put("key", key.key());
        fields.put("start", key.window().start());
        fields.put("end", key.window().end());
        try {
            return JSON.writeValueAsString(fields).getBytes(StandardCharsets.UTF_8);
        } catch (JsonProcessingException error) {
            throw new IllegalStateException(error);
        }
    }

    private static Object parsed(byte[] data) {
        try {
            return JSON.readTree(new String(data, StandardCharsets.UTF_8));
        } catch (JsonProcessingException error) {
            throw new IllegalStateException(error);
        }
    }
}
