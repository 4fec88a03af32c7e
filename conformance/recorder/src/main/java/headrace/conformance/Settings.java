package headrace.conformance;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.file.Path;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.errors.LogAndContinueProcessingExceptionHandler;
import org.apache.kafka.streams.errors.LogAndFailProcessingExceptionHandler;

/** The settings of a run: fixed, except for the cache and the settings of the scenario. */
final class Settings {
    private static final Map<String, Class<?>> HANDLERS = Map.of(
        "fail", LogAndFailProcessingExceptionHandler.class,
        "continue", LogAndContinueProcessingExceptionHandler.class);

    private Settings() {
    }

    static Properties of(JsonNode scenario, long cacheBytes, Path stateDirectory) {
        Properties settings = new Properties();
        settings.put(StreamsConfig.APPLICATION_ID_CONFIG, "conformance");
        settings.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, "unused:9092");
        settings.put(StreamsConfig.STATE_DIR_CONFIG, stateDirectory.toString());
        settings.put(StreamsConfig.DEFAULT_KEY_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
        settings.put(StreamsConfig.DEFAULT_VALUE_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
        settings.put(StreamsConfig.STATESTORE_CACHE_MAX_BYTES_CONFIG, cacheBytes);
        settings.put(StreamsConfig.MAX_TASK_IDLE_MS_CONFIG, scenario.path("together").booleanValue() ? 1000L : 0L);
        settings.put(StreamsConfig.PROCESSING_EXCEPTION_HANDLER_CLASS_CONFIG, HANDLERS.get("fail"));
        scenario.path("config").properties().forEach(entry -> settings.put(entry.getKey(), setting(entry)));
        return settings;
    }

    private static Object setting(Map.Entry<String, JsonNode> entry) {
        String value = entry.getValue().asText();
        return entry.getKey().endsWith("exception.handler") ? HANDLERS.get(value) : value;
    }
}
