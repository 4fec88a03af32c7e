package headrace.conformance;

import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.JoinWindows;
import org.apache.kafka.streams.kstream.Joined;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.StreamJoined;
import org.apache.kafka.streams.kstream.Suppressed;
import org.apache.kafka.streams.kstream.Suppressed.BufferConfig;

/** Whole applications, and tables of windows as inputs of further operators. */
final class Pipelines {
    private static final Grouped<String, String> TEXTS = Grouped.with(Plan.TEXT, Plan.TEXT);

    private Pipelines() {
    }

    /** The first example of the documentation: clicks with the country of their user, final counts per window. */
    static void clicksPerCountry(Plan plan, Params params) {
        plan.writeWindowNumbers(plan.stream("clicks")
            .join(plan.table("users", true), (click, country) -> country, Joined.with(Plan.TEXT, Plan.TEXT, Plan.TEXT))
            .groupBy((user, country) -> country, TEXTS)
            .windowedBy(Windows.timeWindows(params))
            .count(Materialized.with(Plan.TEXT, Serdes.Long()))
            .suppress(Suppressed.untilWindowCloses(BufferConfig.unbounded())));
    }

    /** Clicks with or without the view before them, collected by their first letter. */
    static void clicksAndViews(Plan plan, Params params) {
        plan.write(plan.stream("clicks")
            .leftJoin(
                plan.stream("views"),
                Functions::joined,
                JoinWindows.ofTimeDifferenceAndGrace(params.ms("difference"), params.ms("grace")),
                StreamJoined.with(Plan.TEXT, Plan.TEXT, Plan.TEXT))
            .groupBy((key, value) -> Functions.head(value), TEXTS)
            .aggregate(() -> "", (key, value, aggregate) -> aggregate + value + ";"));
    }

    static void timeWindowFilteredCount(Plan plan, Params params) {
        plan.writeWindowNumbers(Windows.time(plan, params).count().filter((window, count) -> count % 2 == 0));
    }

    static void sessionWindowFilteredCount(Plan plan, Params params) {
        plan.writeWindowNumbers(Windows.session(plan, params).count().filter((window, count) -> count % 2 == 0));
    }

    /** A table aggregation makes the old values that a windowed aggregation forwards visible. */
    static void timeWindowTableAggregate(Plan plan, Params params) {
        plan.write(Windows.time(plan, params).count()
            .groupBy((window, count) -> KeyValue.pair(window.key(), window.window().start() + "=" + count), TEXTS)
            .aggregate(() -> "", Functions::plus, Functions::minus));
    }

    static void suppressTimeWindowAndAggregate(Plan plan, Params params) {
        plan.write(Windows.time(plan, params).count(Materialized.with(Plan.TEXT, Serdes.Long()))
            .suppress(Suppressed.untilWindowCloses(BufferConfig.unbounded()))
            .groupBy((window, count) -> KeyValue.pair(window.key(), window.window().start() + "=" + count), TEXTS)
            .aggregate(() -> "", Functions::plus, Functions::minus));
    }

    /** A join with a suppressed table. */
    static void suppressAndJoin(Plan plan, Params params) {
        plan.write(plan.table("left")
            .suppress(Suppressed.untilTimeLimit(params.ms("limit"), BufferConfig.unbounded()))
            .outerJoin(plan.table("right"), Functions::joined));
    }
}
