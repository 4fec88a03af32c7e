package headrace.conformance;

import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.KGroupedTable;
import org.apache.kafka.streams.kstream.KTable;
import org.apache.kafka.streams.kstream.KeyValueMapper;

/** Aggregations of a grouped table: subtract, then add. */
final class TableAggregations {
    private static final Grouped<String, String> TEXTS = Grouped.with(Plan.TEXT, Plan.TEXT);

    private TableAggregations() {
    }

    static void tableCountByGroup(Plan plan, Params params) {
        plan.writeNumbers(grouped(plan, Functions::byGroup).count());
    }

    static void tableCountByKey(Plan plan, Params params) {
        plan.writeNumbers(grouped(plan, Functions::byKey).count());
    }

    static void tableCountByValue(Plan plan, Params params) {
        plan.writeNumbers(grouped(plan, Functions::byValue).count());
    }

    static void tableReduce(Plan plan, Params params) {
        plan.write(grouped(plan, Functions::byGroup).reduce(Functions::plusOne, Functions::minusOne));
    }

    static void tableAggregate(Plan plan, Params params) {
        plan.write(grouped(plan, Functions::byGroup).aggregate(() -> "", Functions::plus, Functions::minus));
    }

    static void tableSet(Plan plan, Params params) {
        plan.write(grouped(plan, Functions::byGroup).aggregate(() -> "", Functions::with, Functions::without));
    }

    static void tableAggregateOrNothing(Plan plan, Params params) {
        plan.write(grouped(plan, Functions::byGroupOrNothing).aggregate(() -> "", Functions::plus, Functions::minus));
    }

    static void tableFilterAndAggregate(Plan plan, Params params) {
        plan.write(plan.table("in")
            .filter((key, value) -> !value.startsWith("C"))
            .mapValues(Functions::shout)
            .groupBy(Functions::byGroup, TEXTS)
            .aggregate(() -> "", Functions::plus, Functions::minus));
    }

    static void countOfCounts(Plan plan, Params params) {
        KTable<String, Long> counts = plan.stream("in").groupByKey().count();
        plan.writeNumbers(counts.groupBy((key, count) -> KeyValue.pair("n" + count, key), TEXTS).count());
    }

    static void versionedTableCountByGroup(Plan plan, Params params) {
        plan.writeNumbers(plan.versionedTable("in", params).groupBy(Functions::byGroup, TEXTS).count());
    }

    static void versionedTableAggregate(Plan plan, Params params) {
        plan.write(plan.versionedTable("in", params)
            .groupBy(Functions::byGroup, TEXTS)
            .aggregate(() -> "", Functions::plus, Functions::minus));
    }

    private static KGroupedTable<String, String> grouped(
            Plan plan, KeyValueMapper<String, String, KeyValue<String, String>> selector) {
        return plan.table("in").groupBy(selector, TEXTS);
    }
}
