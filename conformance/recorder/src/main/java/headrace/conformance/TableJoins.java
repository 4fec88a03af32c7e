package headrace.conformance;

import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.KTable;

/** Joins of two tables, by primary key and by foreign key. */
final class TableJoins {
    private TableJoins() {
    }

    static void tableTableJoin(Plan plan, Params params) {
        KTable<String, String> left = plan.table("left");
        KTable<String, String> right = plan.table("right");
        plan.write(params.flag("stored")
            ? left.join(right, Functions::joined, Plan.store("joined"))
            : left.join(right, Functions::joined));
    }

    static void tableTableLeftJoin(Plan plan, Params params) {
        KTable<String, String> left = plan.table("left");
        KTable<String, String> right = plan.table("right");
        plan.write(params.flag("stored")
            ? left.leftJoin(right, Functions::joined, Plan.store("joined"))
            : left.leftJoin(right, Functions::joined));
    }

    static void tableTableOuterJoin(Plan plan, Params params) {
        KTable<String, String> left = plan.table("left");
        KTable<String, String> right = plan.table("right");
        plan.write(params.flag("stored")
            ? left.outerJoin(right, Functions::joined, Plan.store("joined"))
            : left.outerJoin(right, Functions::joined));
    }

    static void threeTablesJoin(Plan plan, Params params) {
        plan.write(plan.table("left")
            .leftJoin(plan.table("right"), Functions::joined)
            .outerJoin(plan.table("third"), Functions::joined));
    }

    static void filteredTablesJoin(Plan plan, Params params) {
        plan.write(plan.table("left")
            .filter(Functions::isLong)
            .outerJoin(plan.table("right").mapValues(Functions::shout), Functions::joined));
    }

    /** Which sides of a join know what a change replaces decides which deletions a filter forwards. */
    static void twoFilteredTablesJoin(Plan plan, Params params) {
        plan.write(twoFiltered(plan, params));
    }

    static void twoFilteredTablesJoinAndAggregate(Plan plan, Params params) {
        plan.write(twoFiltered(plan, params)
            .groupBy(Functions::byKey, Grouped.with(Plan.TEXT, Plan.TEXT))
            .aggregate(() -> "", Functions::plus, Functions::minus));
    }

    static void twoFilteredTablesForeignKeyJoin(Plan plan, Params params) {
        KTable<String, String> left = plan.table("left").filter(Functions::isLonger);
        plan.write(byForeignKey(left, plan.table("right").filter(Functions::isLong), params));
    }

    /** An aggregation makes the old values that a join forwards visible. */
    static void tableTableJoinAndAggregate(Plan plan, Params params) {
        plan.write(plan.table("left")
            .leftJoin(plan.table("right"), Functions::joined)
            .groupBy(Functions::byGroup, Grouped.with(Plan.TEXT, Plan.TEXT))
            .aggregate(() -> "", Functions::plus, Functions::minus));
    }

    static void countsJoin(Plan plan, Params params) {
        plan.write(plan.stream("left").groupByKey().count()
            .outerJoin(plan.stream("right").groupByKey().count(), Functions::joined));
    }

    static void versionedTablesJoin(Plan plan, Params params) {
        plan.write(plan.versionedTable("left", params)
            .join(plan.versionedTable("right", params), Functions::joined));
    }

    static void foreignKeyJoin(Plan plan, Params params) {
        plan.write(plan.table("left").join(plan.table("right"), Functions::group, Functions::joined));
    }

    static void foreignKeyLeftJoin(Plan plan, Params params) {
        plan.write(plan.table("left").leftJoin(plan.table("right"), Functions::group, Functions::joined));
    }

    static void foreignKeyJoinAndAggregate(Plan plan, Params params) {
        plan.write(plan.table("left")
            .join(plan.table("right"), Functions::group, Functions::joined)
            .groupBy(Functions::byGroup, Grouped.with(Plan.TEXT, Plan.TEXT))
            .aggregate(() -> "", Functions::plus, Functions::minus));
    }

    /** An inner or a left join by foreign key. */
    static KTable<String, String> byForeignKey(
        KTable<String, String> left, KTable<String, String> right, Params params) {
        return params.text("kind", "inner").equals("inner")
            ? left.join(right, Functions::group, Functions::joined)
            : left.leftJoin(right, Functions::group, Functions::joined);
    }

    private static KTable<String, String> twoFiltered(Plan plan, Params params) {
        KTable<String, String> left = plan.table("left").filter(Functions::isLong);
        KTable<String, String> right = plan.table("right").filter(Functions::isLong);
        return switch (params.text("kind", "inner")) {
            case "inner" -> left.join(right, Functions::joined);
            case "left" -> left.leftJoin(right, Functions::joined);
            default -> left.outerJoin(right, Functions::joined);
        };
    }
}
