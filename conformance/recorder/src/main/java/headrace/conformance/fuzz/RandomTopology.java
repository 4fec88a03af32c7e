package headrace.conformance.fuzz;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.Branched;
import org.apache.kafka.streams.kstream.BranchedKStream;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.KTable;
import org.apache.kafka.streams.kstream.Named;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.kstream.Repartitioned;

/** Builds a described topology, node by node. */
@SuppressWarnings("unchecked")
final class RandomTopology {
    final StreamsBuilder builder = new StreamsBuilder();
    final Map<String, JsonNode> sinks = new TreeMap<>();
    final Rows rows = new Rows();
    private final JsonNode nodes;
    private final Rules rules;
    private final List<Object> built = new ArrayList<>();

    RandomTopology(JsonNode description, Rules rules) {
        this.nodes = description.get("nodes");
        this.rules = rules;
        Aggregations aggregations = new Aggregations(rules, rows);
        Joins joins = new Joins(nodes, rows);
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
                    joins.join(first, inputs.get(1), node, number);
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
            default -> Rows.stored(node)
                ? builder.table(topics.get(0), consumed, rows.of(node, number))
                : builder.table(topics.get(0), consumed);
        };
    }

    private Object sink(Object input, JsonNode node, int number) {
        JsonNode kind = nodes.get(node.get("in").get(0).intValue());
        String topic = "out" + number;
        KStream<Object, Object> stream = input instanceof KTable
            ? ((KTable<Object, Object>) input).toStream() : (KStream<Object, Object>) input;
        Produced<Object, Object> produced = Produced.with(Kinds.serde(kind.get("key").textValue()), Kinds.value(kind));
        if (node.has("fn")) {
            stream.to((key, value, context) -> topic + "-" + NamedFunctions.size(value) % 2, produced);
            sinks.put(topic + "-0", kind);
            sinks.put(topic + "-1", kind);
        } else {
            stream.to(topic, produced);
            sinks.put(topic, kind);
        }
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
            case "flat_map_values_with_key" -> stream.flatMapValues((key, value) -> (Iterable<Object>)
                NamedFunctions.flatten(fn, value).stream().map(text -> NamedFunctions.join("pair", key, text)).toList());
            case "select_key" -> stream.selectKey((key, value) -> (Object) NamedFunctions.select(fn, key, value));
            case "through" -> through(stream, node, "through" + number);
            case "peek" -> stream.peek((key, value) -> { });
            case "merge" -> rules.merge(stream, (KStream<Object, Object>) inputs.get(1));
            case "split" -> split(stream, node, number);
            case "repartition" -> stream.repartition(
                Repartitioned.with(Kinds.key(node), Kinds.value(node)).withName("r" + number));
            case "to_table" -> stream.toTable(rows.of(node, number));
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
            case "filter" -> Rows.stored(node)
                ? table.filter((key, value) -> NamedFunctions.predicate(fn, key, value), rows.of(node, number))
                : table.filter((key, value) -> NamedFunctions.predicate(fn, key, value));
            case "filter_not" -> Rows.stored(node)
                ? table.filterNot((key, value) -> NamedFunctions.predicate(fn, key, value), rows.of(node, number))
                : table.filterNot((key, value) -> NamedFunctions.predicate(fn, key, value));
            case "map_values" -> Rows.stored(node) || !node.get("shape").textValue().equals("versioned table")
                ? table.mapValues(value -> NamedFunctions.map(mapper, value), rows.of(node, number))
                : table.mapValues(value -> NamedFunctions.map(mapper, value));
            case "map_values_with_key" -> Rows.stored(node)
                ? table.mapValues((key, value) -> NamedFunctions.join("pair", key, value), rows.of(node, number))
                : table.mapValues((key, value) -> NamedFunctions.join("pair", key, value));
            case "to_stream" -> fn == null ? table.toStream()
                : table.toStream((key, value) -> (Object) NamedFunctions.select(fn, key, value));
            case "transform_values" -> Transformers.transformed(table, node, number, rules, rows, builder);
            case "suppress" -> rules.suppress(table, node, number);
            case "group_by" -> table.groupBy(
                (key, value) -> KeyValue.<Object, Object>pair(
                    NamedFunctions.select(fn, key, value), NamedFunctions.map(mapper, value)),
                Grouped.with("g" + number, Kinds.key(node), Kinds.value(node)));
            default -> throw new IllegalArgumentException(node.toString());
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
                (key, value) -> NamedFunctions.predicate(fn, key, value), branched(node, branch));
            branch++;
        }
        return branches.defaultBranch(branched(node, branch));
    }

    private static Branched<Object, Object> branched(JsonNode node, int branch) {
        String fn = node.get("inside").get(branch).textValue();
        return fn == null ? Branched.as(String.valueOf(branch)) : Branched.withFunction(
            stream -> stream.filter((key, value) -> NamedFunctions.predicate(fn, key, value)), String.valueOf(branch));
    }
}
