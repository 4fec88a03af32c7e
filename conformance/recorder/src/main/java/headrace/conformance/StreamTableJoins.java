package headrace.conformance;

import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.GlobalKTable;
import org.apache.kafka.streams.kstream.Joined;
import org.apache.kafka.streams.kstream.KStream;

/** Joins of a stream with a table or a global table. */
final class StreamTableJoins {
    private static final Joined<String, String, String> TEXTS = Joined.with(Plan.TEXT, Plan.TEXT, Plan.TEXT);

    private StreamTableJoins() {
    }

    static void streamTableJoin(Plan plan, Params params) {
        plan.write(plan.stream("stream").join(plan.table("table"), Functions::joined, TEXTS));
    }

    static void streamTableLeftJoin(Plan plan, Params params) {
        plan.write(plan.stream("stream").leftJoin(plan.table("table"), Functions::joined, TEXTS));
    }

    static void streamTableJoinByHead(Plan plan, Params params) {
        plan.write(byHead(plan).join(plan.table("table"), Functions::joined, TEXTS));
    }

    static void streamTableLeftJoinByHead(Plan plan, Params params) {
        plan.write(byHead(plan).leftJoin(plan.table("table"), Functions::joined, TEXTS));
    }

    static void streamFilteredTableLeftJoin(Plan plan, Params params) {
        plan.write(plan.stream("stream").leftJoin(
            plan.table("table").filter(Functions::isLong).mapValues(Functions::shout), Functions::joined, TEXTS));
    }

    static void streamJoinOwnCount(Plan plan, Params params) {
        KStream<String, String> stream = plan.stream("in");
        plan.write(stream.join(
            stream.groupByKey().count(),
            (String value, Long count) -> Functions.joined(value, count)));
    }

    static void streamVersionedTableJoin(Plan plan, Params params) {
        plan.write(plan.stream("stream").join(plan.versionedTable("table", params), Functions::joined, TEXTS));
    }

    static void streamVersionedTableLeftJoin(Plan plan, Params params) {
        plan.write(plan.stream("stream").leftJoin(plan.versionedTable("table", params), Functions::joined, TEXTS));
    }

    static void streamTableJoinWithGrace(Plan plan, Params params) {
        plan.write(plan.stream("stream").join(
            plan.versionedTable("table", params), Functions::joined, TEXTS.withGracePeriod(params.ms("grace"))));
    }

    static void streamTableLeftJoinWithGrace(Plan plan, Params params) {
        plan.write(plan.stream("stream").leftJoin(
            plan.versionedTable("table", params), Functions::joined, TEXTS.withGracePeriod(params.ms("grace"))));
    }

    static void globalTableJoin(Plan plan, Params params) {
        plan.write(plan.stream("stream").join(
            global(plan), (String key, String value) -> Functions.head(value), Functions::joined));
    }

    static void globalTableLeftJoin(Plan plan, Params params) {
        plan.write(plan.stream("stream").leftJoin(
            global(plan), (String key, String value) -> Functions.head(value), Functions::joined));
    }

    static void globalTableJoinByKey(Plan plan, Params params) {
        plan.write(plan.stream("stream").join(global(plan), (key, value) -> key, Functions::joined));
    }

    private static KStream<String, String> byHead(Plan plan) {
        return plan.stream("stream").selectKey((key, value) -> Functions.head(value));
    }

    private static GlobalKTable<String, String> global(Plan plan) {
        return plan.builder.globalTable("table", Consumed.with(Plan.TEXT, Plan.TEXT));
    }
}
