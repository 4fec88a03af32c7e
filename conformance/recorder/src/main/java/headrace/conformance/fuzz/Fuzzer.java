package headrace.conformance.fuzz;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;

/** Runs one random topology per line of standard input on Kafka Streams, and answers each with a line. */
public final class Fuzzer {
    private static final ObjectMapper JSON = new ObjectMapper();

    private Fuzzer() {
    }

    public static void main(String[] arguments) throws IOException {
        PrintStream answers = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        System.setOut(System.err);
        BufferedReader cases = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = cases.readLine(); line != null; line = cases.readLine()) {
            answers.println(JSON.writeValueAsString(answer(JSON.readTree(line), arguments[0])));
        }
    }

    private static ObjectNode answer(JsonNode description, String stateDirectory) {
        ObjectNode answer = JSON.createObjectNode();
        try {
            Rules rules = new Rules(description.path("rules"));
            Kinds.prefixed = rules.has("empty-rows-are-rows");
            RandomTopology topology = new RandomTopology(description, rules);
            new Execution(topology, description, stateDirectory).answerTo(answer);
        } catch (RuntimeException refused) {
            answer.removeAll();
            answer.put("refused", Execution.message(refused));
        }
        return answer;
    }
}
