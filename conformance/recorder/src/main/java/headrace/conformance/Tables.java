package headrace.conformance;

import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.KTable;

/** Table sources and operators on tables. */
final class Tables {
    private Tables() {
    }

    static void table(Plan plan, Params params) {
        plan.write(plan.table("in", params.flag("stored")));
    }

    static void tableFilter(Plan plan, Params params) {
        KTable<String, String> table = plan.table("in", params.flag("stored"));
        plan.write(params.flag("result_stored")
            ? table.filter(Functions::isLong, Plan.store("filtered"))
            : table.filter(Functions::isLong));
    }

    static void tableFilterNot(Plan plan, Params params) {
        plan.write(plan.table("in", params.flag("stored")).filterNot(Functions::isLong));
    }

    /** Maps "nil" to null; appends an exclamation mark to everything else. */
    static void tableMapValues(Plan plan, Params params) {
        KTable<String, String> table = plan.table("in", params.flag("stored"));
        plan.write(params.flag("result_stored")
            ? table.mapValues(Tables::shoutUnlessNil, Plan.store("mapped"))
            : table.mapValues(Tables::shoutUnlessNil));
    }

    static void tableMapValuesWithKey(Plan plan, Params params) {
        plan.write(plan.table("in").mapValues((key, value) -> Functions.joined(key, value)));
    }

    static void tableChain(Plan plan, Params params) {
        plan.write(plan.table("in", params.flag("stored"))
            .mapValues(Tables::shoutUnlessNil)
            .filter(Functions::isLonger)
            .mapValues(Functions::shout));
    }

    static void toTable(Plan plan, Params params) {
        plan.write(params.flag("stored")
            ? plan.stream("in").toTable(Plan.store("rows"))
            : plan.stream("in").toTable());
    }

    static void selectKeyToTable(Plan plan, Params params) {
        plan.write(plan.stream("in").selectKey((key, value) -> Functions.head(value)).toTable(Plan.store("rows")));
    }

    static void tableToStreamWithKey(Plan plan, Params params) {
        plan.write(plan.table("in", params.flag("stored")).toStream((key, value) -> Functions.joined(key, value)));
    }

    static void tableToStreamWithKeyAndCount(Plan plan, Params params) {
        plan.writeNumbers(plan.table("in")
            .toStream((key, value) -> Functions.head(value))
            .groupByKey(Grouped.with(Plan.TEXT, Plan.TEXT))
            .count());
    }

    static void filteredCount(Plan plan, Params params) {
        plan.writeNumbers(plan.stream("in").groupByKey().count().filter((key, count) -> count % 2 == 0));
    }

    static void versionedTable(Plan plan, Params params) {
        plan.write(plan.versionedTable("in", params));
    }

    static void versionedTableFilter(Plan plan, Params params) {
        plan.write(plan.versionedTable("in", params).filter(Functions::isLong));
    }

    static void versionedTableMapValues(Plan plan, Params params) {
        plan.write(plan.versionedTable("in", params).mapValues(Functions::shout));
    }

    private static String shoutUnlessNil(String value) {
        return value.equals("nil") ? null : Functions.shout(value);
    }
}
