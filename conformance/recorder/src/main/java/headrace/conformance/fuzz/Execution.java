package headrace.conformance.fuzz;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.time.Duration;
import java.time.Instant;
import java.util.Properties;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.Serializer;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.TestOutputTopic;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.TopologyTestDriver;
import org.apache.kafka.streams.state.BuiltInDslStoreSuppliers;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.ValueAndTimestamp;
import org.apache.kafka.streams.test.TestRecord;

/** Pipes the steps of a description through its topology. */
final class Execution {
    /** Each has a directory of its own: a driver that fails to start leaves its global stores locked. */
    private static int executions;

    private final RandomTopology topology;
    private final JsonNode steps;
    private final JsonNode order;
    private final Properties settings = new Properties();

    Execution(RandomTopology topology, JsonNode description, String stateDirectory) {
        this.topology = topology;
        this.steps = description.get("steps");
        this.order = description.get("order");
        settings.put(StreamsConfig.APPLICATION_ID_CONFIG, "fuzz");
        settings.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, "unused:9092");
        settings.put(StreamsConfig.STATE_DIR_CONFIG, stateDirectory + "/" + ++executions);
        settings.put(StreamsConfig.DEFAULT_KEY_SERDE_CLASS_CONFIG, Kinds.Text.class);
        settings.put(StreamsConfig.DEFAULT_VALUE_SERDE_CLASS_CONFIG, Kinds.Text.class);
        settings.put(StreamsConfig.STATESTORE_CACHE_MAX_BYTES_CONFIG, 0L);
        if (description.path("memory").booleanValue()) {
            settings.put(StreamsConfig.DSL_STORE_SUPPLIERS_CLASS_CONFIG,
                BuiltInDslStoreSuppliers.InMemoryDslStoreSuppliers.class);
        }
    }

    void answerTo(ObjectNode answer) {
        ObjectNode outputs = answer.putObject("outputs");
        topology.sinks.keySet().forEach(outputs::putArray);
        Topology built = topology.builder.build();
        try (TopologyTestDriver driver = new TopologyTestDriver(built, settings, Instant.EPOCH)) {
            if (order != null) {
                TopicOrder.follow(order, driver);
            }
            for (int number = 0; number < steps.size(); number++) {
                try {
                    perform(steps.get(number), driver);
                } catch (RuntimeException error) {
                    answer.put("failed", number);
                    answer.put("message", message(error));
                    return;
                }
                collect(driver, outputs);
            }
            ObjectNode stores = answer.putObject("stores");
            for (String name : topology.rows.compared) {
                contents(driver.getTimestampedKeyValueStore(name), stores.putArray(name));
            }
        } catch (ReflectiveOperationException error) {
            throw new IllegalStateException("This version of Kafka's test driver cannot follow an order", error);
        }
    }

    private static void perform(JsonNode step, TopologyTestDriver driver) {
        String topic = step.get(0).textValue();
        if (topic.equals("@advance")) {
            driver.advanceWallClockTime(Duration.ofMillis(step.get(1).longValue()));
        } else {
            Serializer<Object> text = Kinds.serde("text").serializer();
            driver.createInputTopic(topic, text, text).pipeInput(
                step.get(1).textValue(), step.get(2).textValue(), step.get(3).longValue());
        }
    }

    private void collect(TopologyTestDriver driver, ObjectNode outputs) {
        topology.sinks.forEach((topic, kind) -> {
            TestOutputTopic<byte[], byte[]> output =
                driver.createOutputTopic(topic, new ByteArrayDeserializer(), new ByteArrayDeserializer());
            while (!output.isEmpty()) {
                TestRecord<byte[], byte[]> record = output.readRecord();
                ArrayNode fields = ((ArrayNode) outputs.get(topic)).addArray();
                fields.addPOJO(read(kind.get("key").textValue(), record.key()));
                fields.addPOJO(read(kind.get("value").textValue(), record.value()));
                fields.add(record.timestamp());
            }
        });
    }

    private static Object read(String kind, byte[] data) {
        return data == null ? null : Kinds.serde(kind).deserializer().deserialize("", data);
    }

    private static void contents(KeyValueStore<Object, ValueAndTimestamp<Object>> store, ArrayNode listed) {
        try (var rows = store.all()) {
            rows.forEachRemaining(row -> {
                ArrayNode fields = listed.addArray();
                fields.addPOJO(row.key);
                fields.addPOJO(row.value.value());
                fields.add(row.value.timestamp());
            });
        }
    }

    static String message(Throwable error) {
        Throwable root = error;
        while (root.getCause() != null) {
            root = root.getCause();
        }
        return error.getClass().getSimpleName() + ": " + root.getClass().getSimpleName() + ": " + root.getMessage();
    }
}
