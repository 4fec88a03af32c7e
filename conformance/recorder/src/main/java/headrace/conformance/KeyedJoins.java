package headrace.conformance;

import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.GlobalKTable;
import org.apache.kafka.streams.kstream.Joined;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.KTable;
import org.apache.kafka.streams.kstream.StreamJoined;

/** Joins of a stream whose joiner gets the key. */
final class KeyedJoins {
    private static final Joined<String, String, String> TEXTS = Joined.with(Plan.TEXT, Plan.TEXT, Plan.TEXT);
    private static final StreamJoined<String, String, String> STREAMS =
        StreamJoined.with(Plan.TEXT, Plan.TEXT, Plan.TEXT);

    private KeyedJoins() {
    }

    static void streamStreamJoinWithKey(Plan plan, Params params) {
        plan.write(join(plan.stream("left"), plan.stream("right"), params));
    }

    static void streamStreamJoinWithKeyByHead(Plan plan, Params params) {
        plan.write(join(byHead(plan, "left"), byHead(plan, "right"), params));
    }

    static void streamSelfJoinWithKey(Plan plan, Params params) {
        KStream<String, String> stream = plan.stream("in");
        plan.write(join(stream, stream, params));
    }

    static void streamTableJoinWithKey(Plan plan, Params params) {
        plan.write(join(plan.stream("stream"), plan.table("table"), params));
    }

    static void streamTableJoinWithKeyByHead(Plan plan, Params params) {
        plan.write(join(byHead(plan, "stream"), plan.table("table"), params));
    }

    static void streamTableJoinWithKeyAndGrace(Plan plan, Params params) {
        plan.write(plan.stream("stream").join(
            plan.versionedTable("table", params),
            (String key, String left, String right) -> Functions.keyed(key, left, right),
            TEXTS.withGracePeriod(params.ms("grace"))));
    }

    static void globalTableJoinWithKey(Plan plan, Params params) {
        GlobalKTable<String, String> table = plan.builder.globalTable("table", Consumed.with(Plan.TEXT, Plan.TEXT));
        KStream<String, String> stream = plan.stream("stream");
        plan.write("inner".equals(params.text("kind", "inner"))
            ? stream.join(
                table,
                (String key, String value) -> Functions.head(value),
                (String key, String left, String right) -> Functions.keyed(key, left, right))
            : stream.leftJoin(
                table,
                (String key, String value) -> Functions.head(value),
                (String key, String left, String right) -> Functions.keyed(key, left, right)));
    }

    private static KStream<String, String> join(
            KStream<String, String> left, KStream<String, String> right, Params params) {
        return switch (params.text("kind", "inner")) {
            case "left" -> left.leftJoin(
                right,
                (String key, String one, String other) -> Functions.keyed(key, one, other),
                StreamJoins.within(params),
                STREAMS);
            case "outer" -> left.outerJoin(
                right,
                (String key, String one, String other) -> Functions.keyed(key, one, other),
                StreamJoins.within(params),
                STREAMS);
            default -> left.join(
                right,
                (String key, String one, String other) -> Functions.keyed(key, one, other),
                StreamJoins.within(params),
                STREAMS);
        };
    }

    private static KStream<String, String> join(
            KStream<String, String> stream, KTable<String, String> table, Params params) {
        return "inner".equals(params.text("kind", "inner"))
            ? stream.join(table, (String key, String one, String other) -> Functions.keyed(key, one, other), TEXTS)
            : stream.leftJoin(table, (String key, String one, String other) -> Functions.keyed(key, one, other), TEXTS);
    }

    private static KStream<String, String> byHead(Plan plan, String topic) {
        return plan.stream(topic).selectKey((key, value) -> Functions.head(value));
    }
}
