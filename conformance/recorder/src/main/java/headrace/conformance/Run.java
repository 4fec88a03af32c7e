package headrace.conformance;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.streams.TestOutputTopic;
import org.apache.kafka.streams.TopologyTestDriver;
import org.apache.kafka.streams.test.TestRecord;

/** Pipes one scenario through a fresh driver: its outputs, the step that caused each, and the error that ended it, if any. */
final class Run {
    final Map<String, List<List<Object>>> outputs = new TreeMap<>();
    final Map<String, List<Integer>> causes = new TreeMap<>();
    int steps;
    String error;

    Run(Plan plan, JsonNode scenario, Properties settings) {
        for (String topic : plan.outputs()) {
            outputs.put(topic, new ArrayList<>());
            causes.put(topic, new ArrayList<>());
        }
        try (TopologyTestDriver driver = new TopologyTestDriver(plan.topology(), settings, Instant.EPOCH)) {
            for (JsonNode step : scenario.get("steps")) {
                if (error == null) {
                    perform(step, driver);
                    collect(plan, driver);
                    steps++;
                }
            }
            if (scenario.path("together").booleanValue()) {
                driver.advanceWallClockTime(Duration.ofSeconds(2));
                steps--;
                collect(plan, driver);
                steps++;
            }
        }
    }

    private void perform(JsonNode step, TopologyTestDriver driver) {
        String topic = step.get(0).textValue();
        try {
            if (topic.equals("@advance")) {
                driver.advanceWallClockTime(Duration.ofMillis(step.get(1).longValue()));
            } else {
                TestRecord<String, String> record = new TestRecord<>(
                    step.get(1).textValue(), step.get(2).textValue(), headers(step), step.get(3).longValue());
                driver.createInputTopic(topic, new StringSerializer(), new StringSerializer()).pipeInput(record);
            }
        } catch (RuntimeException thrown) {
            Throwable root = thrown;
            while (root.getCause() != null) {
                root = root.getCause();
            }
            error = thrown.getClass().getSimpleName() + ": " + root.getClass().getSimpleName();
        }
    }

    private static Headers headers(JsonNode step) {
        RecordHeaders headers = new RecordHeaders();
        for (JsonNode header : step.path(4)) {
            String value = header.get(1).textValue();
            headers.add(header.get(0).textValue(), value == null ? null : value.getBytes(StandardCharsets.UTF_8));
        }
        return headers;
    }

    private void collect(Plan plan, TopologyTestDriver driver) {
        for (String topic : plan.outputs()) {
            TestOutputTopic<byte[], byte[]> output =
                driver.createOutputTopic(topic, new ByteArrayDeserializer(), new ByteArrayDeserializer());
            while (!output.isEmpty()) {
                outputs.get(topic).add(readable(plan, topic, output.readRecord()));
                causes.get(topic).add(steps);
            }
        }
    }

    private static List<Object> readable(Plan plan, String topic, TestRecord<byte[], byte[]> record) {
        List<Object> fields = new ArrayList<>();
        fields.add(plan.readableKey(topic, record.key()));
        fields.add(plan.readableValue(topic, record.value()));
        fields.add(record.timestamp());
        List<List<String>> headers = new ArrayList<>();
        for (Header header : record.headers()) {
            List<String> pair = new ArrayList<>();
            pair.add(header.key());
            pair.add(header.value() == null ? null : new String(header.value(), StandardCharsets.UTF_8));
            headers.add(pair);
        }
        if (!headers.isEmpty()) {
            fields.add(headers);
        }
        return fields;
    }
}
