package headrace.conformance;

import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.KTable;
import org.apache.kafka.streams.kstream.Materialized;

/** Joins of tables with what is made of them: one input record changes both sides, or one side twice. */
final class TableSelfJoins {
    private TableSelfJoins() {
    }

    /** The last row of all, joined with the rows, mapped and as they are. */
    static void tableJoinOwnLast(Plan plan, Params params) {
        KTable<String, String> table = plan.table("in");
        KTable<String, String> mapped = table.mapValues(Functions::shout);
        KTable<String, String> last = mapped
            .groupBy(Functions::underA, Grouped.with(Plan.TEXT, Plan.TEXT))
            .reduce(Functions::newer, Functions::kept);
        plan.write(last.outerJoin(mapped, Functions::joined).join(table, Functions::joined));
    }

    /** As above, with rows that are mapped in two ways. */
    static void tableJoinOwnMappings(Plan plan, Params params) {
        KTable<String, String> table = plan.table("in");
        KTable<String, String> mapped = table.mapValues(Functions::shout);
        KTable<String, String> last = mapped
            .groupBy(Functions::underA, Grouped.with(Plan.TEXT, Plan.TEXT))
            .reduce(Functions::newer, Functions::kept);
        plan.write(last.outerJoin(mapped, Functions::joined)
            .join(table.mapValues(Functions::item), Functions::joined));
    }

    /** Rows joined with what they are grouped into, before and after a filter. */
    static void tableJoinOwnAggregate(Plan plan, Params params) {
        KTable<String, String> table = plan.table("in");
        KTable<String, String> filtered = table.filter(Functions::isLong);
        plan.write(table.toStream(), "rows");
        KTable<String, String> grouped = filtered
            .groupBy(Functions::byKey, Grouped.with(Plan.TEXT, Plan.TEXT))
            .aggregate(() -> "", Functions::plus, Functions::minus);
        plan.write(table.leftJoin(grouped, Functions::joined).outerJoin(filtered, Functions::joined));
    }

    static void foreignKeyJoinOfRowsThatChangeTwice(Plan plan, Params params) {
        KTable<String, String> rows = plan.stream("left")
            .flatMapValues(Functions::twice)
            .toTable(Materialized.with(Plan.TEXT, Plan.TEXT));
        plan.write(TableJoins.byForeignKey(rows, plan.table("right"), params));
    }

    static void foreignKeySelfJoin(Plan plan, Params params) {
        KTable<String, String> table = plan.table("in");
        plan.write(TableJoins.byForeignKey(table, table, params));
    }

    static void foreignKeyJoinOwnMapping(Plan plan, Params params) {
        KTable<String, String> table = plan.table("in");
        plan.write(TableJoins.byForeignKey(table, table.mapValues(Functions::item), params));
    }
}
