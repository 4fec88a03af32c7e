package headrace.conformance.fuzz;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.function.BiFunction;
import org.apache.kafka.streams.kstream.GlobalKTable;
import org.apache.kafka.streams.kstream.JoinWindows;
import org.apache.kafka.streams.kstream.Joined;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.KTable;
import org.apache.kafka.streams.kstream.KeyValueMapper;
import org.apache.kafka.streams.kstream.StreamJoined;
import org.apache.kafka.streams.kstream.ValueJoiner;
import org.apache.kafka.streams.kstream.ValueJoinerWithKey;

/** Joins of streams and tables of all kinds. */
@SuppressWarnings("unchecked")
final class Joins {
    private final JsonNode nodes;
    private final Rows rows;

    Joins(JsonNode nodes, Rows rows) {
        this.nodes = nodes;
        this.rows = rows;
    }

    Object join(Object left, Object right, JsonNode node, int number) {
        if (left instanceof KTable) {
            return tables((KTable<Object, Object>) left, (KTable<Object, Object>) right, node, number);
        }
        KStream<Object, Object> stream = (KStream<Object, Object>) left;
        if (right instanceof GlobalKTable) {
            return global(stream, (GlobalKTable<Object, Object>) right, node);
        }
        return right instanceof KTable
            ? table(stream, (KTable<Object, Object>) right, node) : streams(stream, (KStream<Object, Object>) right, node);
    }

    private static KStream<Object, Object> global(
            KStream<Object, Object> stream, GlobalKTable<Object, Object> table, JsonNode node) {
        String fn = node.get("fn").textValue();
        KeyValueMapper<Object, Object, Object> select = (key, value) -> NamedFunctions.select(fn, key, value);
        boolean inner = node.get("op").textValue().equals("join");
        if (isKeyed(node)) {
            return inner ? stream.join(table, select, keyed()) : stream.leftJoin(table, select, keyed());
        }
        return inner ? stream.join(table, select, joiner(node)) : stream.leftJoin(table, select, joiner(node));
    }

    private KStream<Object, Object> table(KStream<Object, Object> stream, KTable<Object, Object> table, JsonNode node) {
        Joined<Object, Object, Object> joined =
            Joined.with(Kinds.key(kind(node, 0)), Kinds.value(kind(node, 0)), Kinds.value(kind(node, 1)));
        joined = node.has("grace") ? joined.withGracePeriod(WindowOptions.ms(node, "grace")) : joined;
        boolean inner = node.get("op").textValue().equals("join");
        if (isKeyed(node)) {
            return inner ? stream.join(table, keyed(), joined) : stream.leftJoin(table, keyed(), joined);
        }
        return inner ? stream.join(table, joiner(node), joined) : stream.leftJoin(table, joiner(node), joined);
    }

    private KStream<Object, Object> streams(KStream<Object, Object> one, KStream<Object, Object> two, JsonNode node) {
        StreamJoined<Object, Object, Object> joined =
            StreamJoined.with(Kinds.key(kind(node, 0)), Kinds.value(kind(node, 0)), Kinds.value(kind(node, 1)));
        JoinWindows windows = WindowOptions.join(node);
        boolean keyed = isKeyed(node);
        return switch (node.get("op").textValue()) {
            case "join" -> keyed
                ? one.join(two, keyed(), windows, joined) : one.join(two, joiner(node), windows, joined);
            case "left_join" -> keyed
                ? one.leftJoin(two, keyed(), windows, joined) : one.leftJoin(two, joiner(node), windows, joined);
            default -> keyed
                ? one.outerJoin(two, keyed(), windows, joined) : one.outerJoin(two, joiner(node), windows, joined);
        };
    }

    /** No joiner of tables gets the key, so it is put in front of the result. */
    private KTable<Object, Object> tables(
            KTable<Object, Object> left, KTable<Object, Object> right, JsonNode node, int number) {
        return isKeyed(node)
            ? tables(left, right, NamedFunctions::both, node, number).mapValues(NamedFunctions::keyed)
            : tables(left, right, joiner(node), node, number);
    }

    /** Without a name no store may be mentioned: {@code Materialized.with(...)} gives a join one of its own. */
    private KTable<Object, Object> tables(
            KTable<Object, Object> left,
            KTable<Object, Object> right,
            ValueJoiner<Object, Object, Object> joiner,
            JsonNode node,
            int number) {
        String fn = node.path("fn").textValue();
        BiFunction<Object, Object, Object> foreign = (key, value) -> NamedFunctions.select(fn, key, value);
        boolean stored = Rows.stored(node);
        return switch (node.get("op").textValue()) {
            case "join" -> stored ? left.join(right, joiner, rows.of(node, number)) : left.join(right, joiner);
            case "left_join" -> stored
                ? left.leftJoin(right, joiner, rows.of(node, number)) : left.leftJoin(right, joiner);
            case "outer_join" -> stored
                ? left.outerJoin(right, joiner, rows.of(node, number)) : left.outerJoin(right, joiner);
            case "foreign_join" -> stored
                ? left.join(right, foreign, joiner, rows.of(node, number)) : left.join(right, foreign, joiner);
            default -> stored
                ? left.leftJoin(right, foreign, joiner, rows.of(node, number)) : left.leftJoin(right, foreign, joiner);
        };
    }

    private JsonNode kind(JsonNode node, int input) {
        return nodes.get(node.get("in").get(input).intValue());
    }

    private static boolean isKeyed(JsonNode node) {
        return node.get("joiner").textValue().equals("keyed");
    }

    private static ValueJoiner<Object, Object, Object> joiner(JsonNode node) {
        String name = node.get("joiner").textValue();
        return (left, right) -> NamedFunctions.join(name, left, right);
    }

    private static ValueJoinerWithKey<Object, Object, Object, Object> keyed() {
        return NamedFunctions::keyed;
    }
}
