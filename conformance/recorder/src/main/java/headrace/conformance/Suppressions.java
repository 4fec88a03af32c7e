package headrace.conformance;

import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.KTable;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Suppressed;
import org.apache.kafka.streams.kstream.Suppressed.BufferConfig;
import org.apache.kafka.streams.kstream.Suppressed.EagerBufferConfig;
import org.apache.kafka.streams.kstream.Suppressed.StrictBufferConfig;

/** Suppressed tables. */
final class Suppressions {
    private Suppressions() {
    }

    static void suppressTimeWindow(Plan plan, Params params) {
        plan.writeWindowNumbers(Windows.time(plan, params)
            .count(Materialized.with(Plan.TEXT, Serdes.Long()))
            .suppress(Suppressed.untilWindowCloses(strict(params))));
    }

    static void suppressTimeWindowAggregate(Plan plan, Params params) {
        plan.writeWindows(Windows.time(plan, params)
            .aggregate(() -> "", Functions::concatOrDelete, Materialized.with(Plan.TEXT, Plan.TEXT))
            .suppress(Suppressed.untilWindowCloses(strict(params))));
    }

    static void suppressSlidingWindow(Plan plan, Params params) {
        plan.writeWindowNumbers(Windows.sliding(plan, params)
            .count(Materialized.with(Plan.TEXT, Serdes.Long()))
            .suppress(Suppressed.untilWindowCloses(strict(params))));
    }

    static void suppressSessionWindow(Plan plan, Params params) {
        plan.writeWindowNumbers(Windows.session(plan, params)
            .count(Materialized.with(Plan.TEXT, Serdes.Long()))
            .suppress(Suppressed.untilWindowCloses(strict(params))));
    }

    static void suppressWithNoBound(Plan plan, Params params) {
        plan.writeWindowNumbers(Windows.time(plan, params)
            .count(Materialized.with(Plan.TEXT, Serdes.Long()))
            .suppress(Suppressed.untilWindowCloses(BufferConfig.maxRecords(1).withNoBound())));
    }

    static void suppressTimeLimit(Plan plan, Params params) {
        plan.write(limited(plan, params));
    }

    static void suppressTimeLimitOfCount(Plan plan, Params params) {
        plan.writeNumbers(plan.stream("in")
            .groupByKey()
            .count()
            .suppress(Suppressed.untilTimeLimit(params.ms("limit"), buffer(params))));
    }

    /** An aggregation makes the old values that a suppressed table forwards visible. */
    static void suppressAndAggregate(Plan plan, Params params) {
        plan.write(limited(plan, params)
            .groupBy(Functions::byGroup, Grouped.with(Plan.TEXT, Plan.TEXT))
            .aggregate(() -> "", Functions::plus, Functions::minus));
    }

    private static KTable<String, String> limited(Plan plan, Params params) {
        return plan.table("in").suppress(Suppressed.untilTimeLimit(params.ms("limit"), buffer(params)));
    }

    private static StrictBufferConfig strict(Params params) {
        return params.has("max_records")
            ? BufferConfig.maxRecords(params.number("max_records")).shutDownWhenFull()
            : BufferConfig.unbounded();
    }

    private static BufferConfig<?> buffer(Params params) {
        if (!params.has("max_records") && !params.has("max_bytes")) {
            return BufferConfig.unbounded();
        }
        EagerBufferConfig full = params.has("max_records")
            ? BufferConfig.maxRecords(params.number("max_records"))
            : BufferConfig.maxBytes(params.number("max_bytes"));
        return params.text("when_full", "emit").equals("emit") ? full.emitEarlyWhenFull() : full.shutDownWhenFull();
    }
}
