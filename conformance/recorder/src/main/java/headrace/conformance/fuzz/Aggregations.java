package headrace.conformance.fuzz;

import com.fasterxml.jackson.databind.JsonNode;
import java.time.Duration;
import java.util.List;
import org.apache.kafka.streams.kstream.Aggregator;
import org.apache.kafka.streams.kstream.CogroupedKStream;
import org.apache.kafka.streams.kstream.EmitStrategy;
import org.apache.kafka.streams.kstream.Initializer;
import org.apache.kafka.streams.kstream.KGroupedStream;
import org.apache.kafka.streams.kstream.KGroupedTable;
import org.apache.kafka.streams.kstream.KTable;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Merger;
import org.apache.kafka.streams.kstream.SessionWindowedKStream;
import org.apache.kafka.streams.kstream.TimeWindowedCogroupedKStream;
import org.apache.kafka.streams.kstream.TimeWindowedKStream;
import org.apache.kafka.streams.processor.StateStore;

/** Aggregations of grouped streams and grouped tables, with and without windows. */
@SuppressWarnings({"unchecked", "rawtypes"})
final class Aggregations {
    private final Rules rules;
    private final Rows rows;

    Aggregations(Rules rules, Rows rows) {
        this.rules = rules;
        this.rows = rows;
    }

    Object aggregate(Object grouped, JsonNode node, int number) {
        if (grouped instanceof KGroupedTable) {
            return ofTable((KGroupedTable<Object, Object>) grouped, node, number);
        }
        KGroupedStream<Object, Object> stream = (KGroupedStream<Object, Object>) grouped;
        return switch (node.path("windows").path("type").asText()) {
            case "time" -> windowed(stream.windowedBy(WindowOptions.time(node.get("windows"))), node, number);
            case "own" -> windowed(stream.windowedBy(new Shifts(node.get("windows"))), node, number);
            case "unlimited" -> windowed(stream.windowedBy(WindowOptions.unlimited(node.get("windows"))), node, number);
            case "sliding" -> rules.slidingWindows((KTable<Object, Object>) windowed(
                stream.windowedBy(WindowOptions.sliding(node.get("windows"))), node, number), node, number);
            case "session" -> sessions(stream.windowedBy(WindowOptions.session(node.get("windows"))), node, number);
            default -> plain(stream, node, number);
        };
    }

    Object cogroup(List<Object> inputs, JsonNode node, int number) {
        CogroupedKStream<Object, Object> cogrouped = null;
        for (int input = 0; input < inputs.size(); input++) {
            KGroupedStream<Object, Object> grouped = (KGroupedStream<Object, Object>) inputs.get(input);
            Aggregator<Object, Object, Object> aggregator = starred(aggregator(node), "*".repeat(input));
            cogrouped = cogrouped == null ? grouped.cogroup(aggregator) : cogrouped.cogroup(grouped, aggregator);
        }
        JsonNode windows = node.path("windows");
        return switch (windows.path("type").asText()) {
            case "time" -> cogrouped(cogrouped.windowedBy(WindowOptions.time(windows)), node, number);
            case "own" -> cogrouped(cogrouped.windowedBy(new Shifts(windows)), node, number);
            case "unlimited" -> cogrouped(cogrouped.windowedBy(WindowOptions.unlimited(windows)), node, number);
            case "sliding" -> cogrouped(cogrouped.windowedBy(WindowOptions.sliding(windows)), node, number);
            case "session" -> rules.windowedCogroup((KTable) cogrouped.windowedBy(WindowOptions.session(windows))
                .aggregate(() -> initial(node), merger(node), store(node, number)), node, number);
            default -> cogrouped.aggregate(initializer(node), store(node, number));
        };
    }

    private Object cogrouped(TimeWindowedCogroupedKStream<Object, Object> cogrouped, JsonNode node, int number) {
        return rules.windowedCogroup((KTable) cogrouped.aggregate(initializer(node), store(node, number)), node, number);
    }

    private Object plain(KGroupedStream<Object, Object> stream, JsonNode node, int number) {
        String fn = node.path("fn").textValue();
        return switch (node.get("op").textValue()) {
            case "reduce" -> stream.reduce((one, two) -> NamedFunctions.reduce(fn, one, two), store(node, number));
            case "count" -> rules.has("first-change-replaces-nothing")
                ? stream.aggregate(initializer(node), aggregator(node), store(node, number))
                : stream.count((Materialized) store(node, number));
            default -> stream.aggregate(initializer(node), aggregator(node), store(node, number));
        };
    }

    private Object windowed(TimeWindowedKStream<Object, Object> given, JsonNode node, int number) {
        String fn = node.path("fn").textValue();
        TimeWindowedKStream<Object, Object> stream =
            node.has("emit") ? given.emitStrategy(EmitStrategy.onWindowClose()) : given;
        return switch (node.get("op").textValue()) {
            case "reduce" -> stream.reduce((one, two) -> NamedFunctions.reduce(fn, one, two), store(node, number));
            case "count" -> rules.has("first-change-replaces-nothing")
                ? stream.aggregate(initializer(node), aggregator(node), store(node, number))
                : stream.count((Materialized) store(node, number));
            default -> stream.aggregate(initializer(node), aggregator(node), store(node, number));
        };
    }

    private Object sessions(SessionWindowedKStream<Object, Object> given, JsonNode node, int number) {
        String fn = node.path("fn").textValue();
        SessionWindowedKStream<Object, Object> stream =
            node.has("emit") ? given.emitStrategy(EmitStrategy.onWindowClose()) : given;
        return switch (node.get("op").textValue()) {
            case "reduce" -> stream.reduce((one, two) -> NamedFunctions.reduce(fn, one, two), store(node, number));
            case "count" -> stream.count((Materialized) store(node, number));
            default -> stream.aggregate(
                () -> initial(node), aggregator(node), merger(node), store(node, number));
        };
    }

    private Object ofTable(KGroupedTable<Object, Object> table, JsonNode node, int number) {
        String fn = node.path("fn").textValue();
        return switch (node.get("op").textValue()) {
            case "count" -> table.count((Materialized) store(node, number));
            case "reduce" -> table.reduce((one, two) -> NamedFunctions.reduce(fn, one, two),
                (one, two) -> NamedFunctions.unreduce(fn, one, two), store(node, number));
            default -> table.aggregate(() -> NamedFunctions.initial(fn),
                (key, value, aggregate) -> NamedFunctions.aggregate(fn, value, aggregate),
                (key, value, aggregate) -> NamedFunctions.unaggregate(fn, value, aggregate), store(node, number));
        };
    }

    /** The initial value; nothing, if the first change of a key is to replace nothing. */
    private Initializer<Object> initializer(JsonNode node) {
        return rules.has("first-change-replaces-nothing") ? () -> null : () -> initial(node);
    }

    private static Object initial(JsonNode node) {
        return node.get("op").textValue().equals("count") ? 0L : NamedFunctions.initial(node.get("fn").textValue());
    }

    private static Aggregator<Object, Object, Object> aggregator(JsonNode node) {
        return (key, value, given) -> {
            Object aggregate = given == null ? initial(node) : given;
            return node.get("op").textValue().equals("count") ? (Object) ((Long) aggregate + 1)
                : NamedFunctions.aggregate(node.get("fn").textValue(), value, aggregate);
        };
    }

    private static Aggregator<Object, Object, Object> starred(Aggregator<Object, Object, Object> aggregator, String stars) {
        return (key, value, aggregate) -> aggregator.apply(key, NamedFunctions.show(value) + stars, aggregate);
    }

    private static Merger<Object, Object> merger(JsonNode node) {
        String fn = node.get("fn").textValue();
        return (key, left, right) -> NamedFunctions.merge(fn, left, right);
    }

    /** A store of text keys, named or not; for windows it remembers long enough never to lose one, if the rules say so. */
    private <S extends StateStore> Materialized<Object, Object, S> store(JsonNode node, int number) {
        if (!node.has("windows")) {
            return (Materialized<Object, Object, S>) (Materialized<?, ?, ?>) rows.of(node, number);
        }
        Materialized<Object, Object, S> store = node.has("store")
            ? Materialized.as("s" + number) : Materialized.with(Kinds.serde("text"), Kinds.value(node));
        store = store.withKeySerde(Kinds.serde("text")).withValueSerde(Kinds.value(node));
        boolean ends = !node.get("windows").has("start");
        return ends && rules.has("no-window-is-lost") ? store.withRetention(Duration.ofDays(1)) : store;
    }
}
