package headrace.conformance;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.apache.kafka.common.utils.AppInfoParser;

/** Reads scenario files of one directory, runs them on Kafka Streams, and writes golden files to another. */
public final class Recorder {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final long CACHE_BYTES = 10 * 1024 * 1024;

    private final Catalogue catalogue = new Catalogue();
    private final Path stateDirectory;

    private Recorder(Path stateDirectory) {
        this.stateDirectory = stateDirectory;
    }

    public static void main(String[] arguments) throws IOException {
        Path target = Path.of(arguments[1]);
        Path stateDirectory = Files.createTempDirectory("conformance");
        Recorder recorder = new Recorder(stateDirectory);
        try (Stream<Path> files = Files.list(Path.of(arguments[0]))) {
            for (Path file : files.filter(path -> path.toString().endsWith(".json")).sorted().toList()) {
                recorder.record(file, target.resolve(file.getFileName()));
            }
        } finally {
            delete(stateDirectory);
        }
    }

    private void record(Path file, Path golden) throws IOException {
        JsonNode topology = JSON.readTree(file.toFile());
        String id = topology.get("id").textValue();
        Definition definition = catalogue.get(id);
        String scenarios = StreamSupport.stream(topology.get("scenarios").spliterator(), false)
            .map(scenario -> recorded(id, definition, scenario).toString())
            .collect(Collectors.joining(",\n"));
        Files.writeString(golden, "{\"id\":%s,\"kafka\":\"%s\",\"scenarios\":[\n%s\n]}\n"
            .formatted(JSON.writeValueAsString(id), AppInfoParser.getVersion(), scenarios));
    }

    private ObjectNode recorded(String id, Definition definition, JsonNode scenario) {
        Run run = run(id, definition, scenario, 0);
        ObjectNode golden = JSON.createObjectNode();
        for (String field : List.of("name", "params", "config", "together")) {
            if (scenario.has(field)) {
                golden.set(field, scenario.get(field));
            }
        }
        ArrayNode steps = golden.putArray("steps");
        for (int index = 0; index < run.steps; index++) {
            steps.add(scenario.get("steps").get(index));
        }
        golden.set("outputs", JSON.valueToTree(run.outputs));
        if (!scenario.has("together")) {
            golden.set("causes", JSON.valueToTree(run.causes));
        }
        if (run.error != null) {
            golden.put("error", run.error);
        }
        if (scenario.path("cached").booleanValue()) {
            golden.set("cached_outputs", JSON.valueToTree(run(id, definition, scenario, CACHE_BYTES).outputs));
        }
        return golden;
    }

    private Run run(String id, Definition definition, JsonNode scenario, long cacheBytes) {
        Plan plan = new Plan();
        try {
            definition.build(plan, new Params(scenario.get("params")));
            return new Run(plan, scenario, Settings.of(scenario, cacheBytes, stateDirectory));
        } catch (RuntimeException error) {
            throw new IllegalStateException(id + ", scenario " + scenario.get("name"), error);
        }
    }

    private static void delete(Path directory) throws IOException {
        try (Stream<Path> files = Files.walk(directory)) {
            files.sorted(Comparator.reverseOrder()).forEach(Recorder::deleteFile);
        }
    }

    private static void deleteFile(Path file) {
        try {
            Files.delete(file);
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }
}
