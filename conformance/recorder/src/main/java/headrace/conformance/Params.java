package headrace.conformance;

import com.fasterxml.jackson.databind.JsonNode;
import java.time.Duration;

/** The parameters of one scenario, by name. Durations are whole milliseconds. */
record Params(JsonNode values) {

    boolean has(String name) {
        return values.hasNonNull(name);
    }

    boolean flag(String name) {
        return has(name) && values.get(name).booleanValue();
    }

    int number(String name) {
        return required(name).intValue();
    }

    long longNumber(String name) {
        return required(name).longValue();
    }

    String text(String name, String otherwise) {
        return has(name) ? values.get(name).textValue() : otherwise;
    }

    Duration ms(String name) {
        return Duration.ofMillis(required(name).longValue());
    }

    Duration ms(String name, long otherwise) {
        return has(name) ? ms(name) : Duration.ofMillis(otherwise);
    }

    private JsonNode required(String name) {
        if (!has(name)) {
            throw new IllegalArgumentException("The scenario has no parameter '" + name + "': " + values);
        }
        return values.get(name);
    }
}
