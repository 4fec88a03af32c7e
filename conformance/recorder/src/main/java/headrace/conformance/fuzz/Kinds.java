package headrace.conformance.fuzz;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.charset.StandardCharsets;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;

/** The kinds of keys and values: how each is written. */
@SuppressWarnings("unchecked")
final class Kinds {
    private static final Serde<String> PREFIXED = Serdes.serdeFrom(
        (topic, text) -> text == null ? null : ("=" + text).getBytes(StandardCharsets.UTF_8),
        (topic, data) -> data == null ? null : new String(data, StandardCharsets.UTF_8).substring(1));

    /** Whether a text is written behind a mark, so that an empty one is not written as no bytes at all. */
    static boolean prefixed;

    private Kinds() {
    }

    /** The serde of a node's keys; none for windowed keys, whose serde Kafka Streams derives itself. */
    static Serde<Object> key(JsonNode node) {
        return node.get("key").textValue().equals("windowed") ? null : serde("text");
    }

    static Serde<Object> value(JsonNode node) {
        return serde(node.get("value").textValue());
    }

    static Serde<Object> serde(String kind) {
        Serde<?> serde = switch (kind) {
            case "text" -> prefixed ? PREFIXED : Serdes.String();
            case "number" -> Serdes.Long();
            case "windowed" -> Serdes.<Object>serdeFrom(
                (topic, key) -> key == null ? null : NamedFunctions.show(key).getBytes(StandardCharsets.UTF_8),
                (topic, data) -> data == null ? null : new String(data, StandardCharsets.UTF_8));
            default -> throw new IllegalArgumentException(kind);
        };
        return (Serde<Object>) serde;
    }

    /** The default serde of an application: that of texts. */
    public static final class Text extends Serdes.WrapperSerde<Object> {
        public Text() {
            super(Kinds.serde("text").serializer(), Kinds.serde("text").deserializer());
        }
    }
}
