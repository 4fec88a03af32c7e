package headrace.conformance.fuzz;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.BiFunction;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.Branched;
import org.apache.kafka.streams.kstream.BranchedKStream;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.GlobalKTable;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Joined;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.KTable;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Named;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.kstream.Repartitioned;
import org.apache.kafka.streams.kstream.StreamJoined;
import org.apache.kafka.streams.kstream.ValueJoiner;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.Stores;

/** Builds a described topology, node by node. */
@SuppressWarnings("unchecked")
final class RandomTopology {
    final StreamsBuilder builder = new StreamsBuilder();
    final Map<String, JsonNode> sinks = new TreeMap<>();
    final List<String> stores = new ArrayList<>();
    private final JsonNode nodes;
    private final Rules rules;
    private final List<Object> built = new ArrayList<>();

    RandomTopology(JsonNode description, Rules rules) {
        this.nodes = description.get("nodes");
        this.rules = rules;
        Aggregations aggregations = new Aggregations(rules, stores);
        for (int number = 0; number < nodes.size(); number++) {
            JsonNode node = nodes.get(number);
            List<Object> inputs = new ArrayList<>();
            node.get("in").forEach(input -> inputs.add(built.get(input.intValue())));
            Object first = inputs.isEmpty() ? null : inputs.get(0);
            Object result = switch (node.get("op").textValue()) {
                case "stream", "table", "global_table" -> source(node, number);
                case "to" -> sink(first, node, number);
                case "count", "reduce", "aggregate" -> aggregations.aggregate(first, node, number);
                case "cogroup" -> aggregations.cogroup(inputs, node, number);
                case "join", "left_join", "outer_join", "foreign_join", "foreign_left_join" ->
                    join(first, inputs.get(1), node, number);
                case "branch" -> ((Map<String, KStream<Object, Object>>) first).get(
                    "split" + node.get("in").get(0).intValue() + "-" + node.get("number").intValue());
                default -> first instanceof KTable ? table((KTable<Object, Object>) first, node, number)
                    : stream((KStream<Object, Object>) first, inputs, node, number);
            };
            built.add(result);
        }
    }

    private Object source(JsonNode node, int number) {
        List<String> topics = new ArrayList<>();
        node.get("topics").forEach(topic -> topics.add(topic.textValue()));
        Consumed<Object, Object> consumed = Consumed.with(Kinds.serde("text"), Kinds.serde("text"));
        if (node.has("extractor")) {
            String extractor = node.get("extractor").textValue();
            consumed = consumed.withTimestampExtractor((record, partitionTime) ->
                NamedFunctions.extract(extractor, record.value(), record.timestamp(), partitionTime));
        }
        return switch (node.get("op").textValue()) {
            case "stream" -> builder.stream(topics, consumed);
            case "global_table" -> builder.globalTable(topics.get(0), consumed);
            default -> node.has("history")
                ? builder.table(topics.get(0), consumed, versioned(node, number))
                : node.has("store") ? builder.table(topics.get(0), consumed, store(node, number))
                : builder.table(topics.get(0), consumed);
        };
    }

    private Object sink(Object input, JsonNode node, int number) {
        JsonNode kind = nodes.get(node.get("in").get(0).intValue());
        String topic = "out" + number;
        KStream<Object, Object> stream = input instanceof KTable
            ? ((KTable<Object, Object>) input).toStream() : (KStream<Object, Object>) input;
        stream.to(topic, Produced.with(Kinds.serde(kind.get("key").textValue()), Kinds.value(kind)));
        sinks.put(topic, kind);
        return null;
    }

    private KStream<Object, Object> through(KStream<Object, Object> stream, JsonNode node, String topic) {
        stream.to(topic, Produced.with(Kinds.key(node), Kinds.value(node)));
        return builder.stream(topic, Consumed.with(Kinds.key(node), Kinds.value(node)));
    }

    private Object stream(KStream<Object, Object> stream, List<Object> inputs, JsonNode node, int number) {
        String fn = node.path("fn").textValue();
        String mapper = node.path("mapper").textValue();
        return switch (node.get("op").textValue()) {
            case "filter" -> stream.filter((key, value) -> NamedFunctions.predicate(fn, key, value));
            case "filter_not" -> stream.filterNot((key, value) -> NamedFunctions.predicate(fn, key, value));
            case "map" -> stream.map((key, value) -> KeyValue.<Object, Object>pair(
                NamedFunctions.select(fn, key, value), NamedFunctions.map(mapper, value)));
            case "map_values" -> stream.mapValues(value -> NamedFunctions.map(mapper, value));
            case "map_values_with_key" -> stream.mapValues((key, value) -> NamedFunctions.join("pair", key, value));
            case "flat_map" -> stream.flatMap((key, value) -> pairs(fn, value));
            case "flat_map_values" -> stream.flatMapValues(value -> (Iterable<Object>) (Iterable<?>)
                NamedFunctions.flatten(fn, value));
            case "select_key" -> stream.selectKey((key, value) -> (Object) NamedFunctions.select(fn, key, value));
            case "through" -> through(stream, node, "through" + number);
            case "peek" -> stream.peek((key, value) -> { });
            case "merge" -> rules.merge(stream, (KStream<Object, Object>) inputs.get(1));
            case "split" -> split(stream, node, number);
            case "repartition" -> stream.repartition(
                Repartitioned.with(Kinds.key(node), Kinds.value(node)).withName("r" + number));
            case "to_table" -> node.has("history") ? stream.toTable(versioned(node, number))
                : stream.toTable(store(node, number));
            case "process" -> stream.process(Agents.supplier(node, "agent" + number));
            case "process_values" -> stream.processValues(Agents.valueSupplier("agent" + number));
            case "group_by_key" -> stream.groupByKey(Grouped.with("g" + number, Kinds.key(node), Kinds.value(node)));
            case "group_by" -> stream.groupBy(
                (key, value) -> (Object) NamedFunctions.select(fn, key, value),
                Grouped.with("g" + number, Kinds.key(node), Kinds.value(node)));
            default -> throw new IllegalArgumentException(node.toString());
        };
    }

    /** A versioned table stays versioned only if no store is mentioned, not even {@code Materialized.with(...)}. */
    private Object table(KTable<Object, Object> table, JsonNode node, int number) {
        String fn = node.path("fn").textValue();
        String mapper = node.path("mapper").textValue();
        return switch (node.get("op").textValue()) {
            case "filter" -> node.has("store")
                ? table.filter((key, value) -> NamedFunctions.predicate(fn, key, value), store(node, number))
                : table.filter((key, value) -> NamedFunctions.predicate(fn, key, value));
            case "filter_not" -> node.has("store")
                ? table.filterNot((key, value) -> NamedFunctions.predicate(fn, key, value), store(node, number))
                : table.filterNot((key, value) -> NamedFunctions.predicate(fn, key, value));
            case "map_values" -> node.has("store") || !node.get("shape").textValue().equals("versioned table")
                ? table.mapValues(value -> NamedFunctions.map(mapper, value), store(node, number))
                : table.mapValues(value -> NamedFunctions.map(mapper, value));
            case "map_values_with_key" -> node.has("store")
                ? table.mapValues((key, value) -> NamedFunctions.join("pair", key, value), store(node, number))
                : table.mapValues((key, value) -> NamedFunctions.join("pair", key, value));
            case "to_stream" -> table.toStream();
            case "suppress" -> rules.suppress(table, node, number);
            case "group_by" -> table.groupBy(
                (key, value) -> KeyValue.<Object, Object>pair(
                    NamedFunctions.select(fn, key, value), NamedFunctions.map(mapper, value)),
                Grouped.with("g" + number, Kinds.key(node), Kinds.value(node)));
            default -> throw new IllegalArgumentException(node.toString());
        };
    }

    private Object join(Object left, Object right, JsonNode node, int number) {
        JsonNode leftKind = nodes.get(node.get("in").get(0).intValue());
        JsonNode rightKind = nodes.get(node.get("in").get(1).intValue());
        String joiner = node.get("joiner").textValue();
        String fn = node.path("fn").textValue();
        String op = node.get("op").textValue();
        if (left instanceof KTable) {
            return tables((KTable<Object, Object>) left, (KTable<Object, Object>) right, node, number);
        }
        KStream<Object, Object> stream = (KStream<Object, Object>) left;
        if (right instanceof GlobalKTable) {
            GlobalKTable<Object, Object> global = (GlobalKTable<Object, Object>) right;
            return op.equals("join")
                ? stream.join(global, (Object key, Object value) -> (Object) NamedFunctions.select(fn, key, value),
                    (Object value, Object row) -> NamedFunctions.join(joiner, value, row))
                : stream.leftJoin(global, (Object key, Object value) -> (Object) NamedFunctions.select(fn, key, value),
                    (Object value, Object row) -> NamedFunctions.join(joiner, value, row));
        }
        if (right instanceof KTable) {
            KTable<Object, Object> table = (KTable<Object, Object>) right;
            Joined<Object, Object, Object> joined =
                Joined.with(Kinds.key(leftKind), Kinds.value(leftKind), Kinds.value(rightKind));
            joined = node.has("grace") ? joined.withGracePeriod(WindowOptions.ms(node, "grace")) : joined;
            return op.equals("join")
                ? stream.join(table, (Object value, Object row) -> NamedFunctions.join(joiner, value, row), joined)
                : stream.leftJoin(table, (Object value, Object row) -> NamedFunctions.join(joiner, value, row), joined);
        }
        KStream<Object, Object> other = (KStream<Object, Object>) right;
        StreamJoined<Object, Object, Object> joined =
            StreamJoined.with(Kinds.key(leftKind), Kinds.value(leftKind), Kinds.value(rightKind));
        return switch (op) {
            case "join" -> stream.join(other, (Object one, Object two) -> NamedFunctions.join(joiner, one, two),
                WindowOptions.join(node), joined);
            case "left_join" -> stream.leftJoin(other, (Object one, Object two) -> NamedFunctions.join(joiner, one, two),
                WindowOptions.join(node), joined);
            default -> stream.outerJoin(other, (Object one, Object two) -> NamedFunctions.join(joiner, one, two),
                WindowOptions.join(node), joined);
        };
    }

    /** Without a name no store may be mentioned: {@code Materialized.with(...)} gives a join one of its own. */
    private KTable<Object, Object> tables(
            KTable<Object, Object> left, KTable<Object, Object> right, JsonNode node, int number) {
        String name = node.get("joiner").textValue();
        String fn = node.path("fn").textValue();
        ValueJoiner<Object, Object, Object> joiner = (one, two) -> NamedFunctions.join(name, one, two);
        BiFunction<Object, Object, Object> foreign = (key, value) -> NamedFunctions.select(fn, key, value);
        boolean stored = node.has("store");
        return switch (node.get("op").textValue()) {
            case "join" -> stored ? left.join(right, joiner, store(node, number)) : left.join(right, joiner);
            case "left_join" -> stored
                ? left.leftJoin(right, joiner, store(node, number)) : left.leftJoin(right, joiner);
            case "outer_join" -> stored
                ? left.outerJoin(right, joiner, store(node, number)) : left.outerJoin(right, joiner);
            case "foreign_join" -> stored
                ? left.join(right, foreign, joiner, store(node, number)) : left.join(right, foreign, joiner);
            default -> stored
                ? left.leftJoin(right, foreign, joiner, store(node, number)) : left.leftJoin(right, foreign, joiner);
        };
    }

    private static List<KeyValue<Object, Object>> pairs(String fn, Object value) {
        List<KeyValue<Object, Object>> pairs = new ArrayList<>();
        for (String text : NamedFunctions.flatten(fn, value)) {
            pairs.add(KeyValue.pair(NamedFunctions.head(text), text));
        }
        return pairs;
    }

    private static Map<String, KStream<Object, Object>> split(KStream<Object, Object> stream, JsonNode node, int number) {
        BranchedKStream<Object, Object> branches = stream.split(Named.as("split" + number + "-"));
        int branch = 0;
        for (JsonNode predicate : node.get("fns")) {
            String fn = predicate.textValue();
            branches = branches.branch(
                (key, value) -> NamedFunctions.predicate(fn, key, value), Branched.as(String.valueOf(branch)));
            branch++;
        }
        return branches.defaultBranch(Branched.as(String.valueOf(branch)));
    }

    private Materialized<Object, Object, KeyValueStore<Bytes, byte[]>> store(JsonNode node, int number) {
        if (!node.has("store")) {
            return Materialized.with(Kinds.key(node), Kinds.value(node));
        }
        stores.add("s" + number);
        return Materialized.<Object, Object, KeyValueStore<Bytes, byte[]>>as("s" + number)
            .withKeySerde(Kinds.key(node)).withValueSerde(Kinds.value(node));
    }

    private static Materialized<Object, Object, KeyValueStore<Bytes, byte[]>> versioned(JsonNode node, int number) {
        return Materialized.<Object, Object>as(Stores.persistentVersionedKeyValueStore(
            "s" + number, WindowOptions.ms(node, "history"))).withKeySerde(Kinds.key(node)).withValueSerde(Kinds.value(node));
    }
}
