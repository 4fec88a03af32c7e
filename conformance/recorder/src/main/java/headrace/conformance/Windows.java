package headrace.conformance;

import java.time.Instant;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.kstream.EmitStrategy;
import org.apache.kafka.streams.kstream.KGroupedStream;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.SessionWindowedKStream;
import org.apache.kafka.streams.kstream.SessionWindows;
import org.apache.kafka.streams.kstream.SlidingWindows;
import org.apache.kafka.streams.kstream.TimeWindowedKStream;
import org.apache.kafka.streams.kstream.TimeWindows;
import org.apache.kafka.streams.kstream.UnlimitedWindows;
import org.apache.kafka.streams.state.SessionStore;
import org.apache.kafka.streams.state.WindowStore;

/** Windowed aggregations: every update, or final results when a window closes. */
final class Windows {
    private Windows() {
    }

    static void timeWindowCount(Plan plan, Params params) {
        plan.writeWindowNumbers(time(plan, params).count());
    }

    static void timeWindowCountToStreamWithKey(Plan plan, Params params) {
        plan.write(
            time(plan, params).count().toStream((windowed, count) -> windowed.key() + "@" + windowed.window().start()),
            "out",
            Format.TEXT,
            Format.NUMBER);
    }

    static void timeWindowReduce(Plan plan, Params params) {
        plan.writeWindows(time(plan, params).reduce(Functions::appended));
    }

    static void timeWindowAggregate(Plan plan, Params params) {
        plan.writeWindows(time(plan, params).aggregate(() -> "", Functions::concat));
    }

    static void timeWindowAggregateDelete(Plan plan, Params params) {
        plan.writeWindows(time(plan, params).aggregate(() -> "", Functions::concatOrDelete));
    }

    static void timeWindowCountByHead(Plan plan, Params params) {
        plan.writeWindowNumbers(plan.stream("in")
            .groupBy((key, value) -> Functions.head(value))
            .windowedBy(timeWindows(params))
            .count());
    }

    /** Counts per window, then the counts of all windows of a key one after another. */
    static void timeWindowCountTotals(Plan plan, Params params) {
        plan.write(time(plan, params).count()
            .toStream()
            .map((window, count) -> KeyValue.pair(
                window.key(), window.window().start() + "=" + count + ";"))
            .groupByKey()
            .aggregate(() -> "", Functions::concat));
    }

    static void timeWindowFinalCount(Plan plan, Params params) {
        plan.writeWindowNumbers(time(plan, params).emitStrategy(EmitStrategy.onWindowClose())
            .count(Materialized.<String, Long, WindowStore<Bytes, byte[]>>as("counts")
                .withKeySerde(Plan.TEXT).withValueSerde(Serdes.Long())));
    }

    static void timeWindowFinalAggregate(Plan plan, Params params) {
        plan.writeWindows(time(plan, params).emitStrategy(EmitStrategy.onWindowClose())
            .aggregate(() -> "", Functions::concat, Materialized.with(Plan.TEXT, Plan.TEXT)));
    }

    static void slidingWindowCount(Plan plan, Params params) {
        plan.writeWindowNumbers(sliding(plan, params).count());
    }

    static void slidingWindowReduce(Plan plan, Params params) {
        plan.writeWindows(sliding(plan, params).reduce(Functions::appended));
    }

    static void slidingWindowAggregate(Plan plan, Params params) {
        plan.writeWindows(sliding(plan, params).aggregate(() -> "", Functions::concat));
    }

    static void slidingWindowFinalCount(Plan plan, Params params) {
        plan.writeWindowNumbers(sliding(plan, params).emitStrategy(EmitStrategy.onWindowClose())
            .count(Materialized.with(Plan.TEXT, Serdes.Long())));
    }

    static void slidingWindowFinalAggregate(Plan plan, Params params) {
        plan.writeWindows(sliding(plan, params).emitStrategy(EmitStrategy.onWindowClose())
            .aggregate(() -> "", Functions::concat, Materialized.with(Plan.TEXT, Plan.TEXT)));
    }

    static void sessionWindowCount(Plan plan, Params params) {
        plan.writeWindowNumbers(session(plan, params).count());
    }

    static void sessionWindowReduce(Plan plan, Params params) {
        plan.writeWindows(session(plan, params).reduce(Functions::appended));
    }

    static void sessionWindowAggregate(Plan plan, Params params) {
        plan.writeWindows(session(plan, params).aggregate(() -> "i", Functions::concat, Functions::merged));
    }

    static void sessionWindowFinalCount(Plan plan, Params params) {
        plan.writeWindowNumbers(session(plan, params).emitStrategy(EmitStrategy.onWindowClose())
            .count(Materialized.with(Plan.TEXT, Serdes.Long())));
    }

    static void sessionWindowFinalAggregate(Plan plan, Params params) {
        plan.writeWindows(session(plan, params).emitStrategy(EmitStrategy.onWindowClose())
            .aggregate(() -> "i", Functions::concat, Functions::merged,
                Materialized.<String, String, SessionStore<Bytes, byte[]>>as("texts")
                    .withKeySerde(Plan.TEXT).withValueSerde(Plan.TEXT)));
    }

    static void unlimitedWindowCount(Plan plan, Params params) {
        plan.writeWindowNumbers(unlimited(plan, params).count());
    }

    static void unlimitedWindowAggregate(Plan plan, Params params) {
        plan.writeWindows(unlimited(plan, params).aggregate(() -> "", Functions::concat));
    }

    static TimeWindows timeWindows(Params params) {
        TimeWindows windows = TimeWindows.ofSizeAndGrace(params.ms("size"), params.ms("grace", 0));
        return params.has("advance") ? windows.advanceBy(params.ms("advance")) : windows;
    }

    static TimeWindowedKStream<String, String> time(Plan plan, Params params) {
        return grouped(plan).windowedBy(timeWindows(params));
    }

    static SlidingWindows slidingWindows(Params params) {
        return SlidingWindows.ofTimeDifferenceAndGrace(params.ms("difference"), params.ms("grace", 0));
    }

    static TimeWindowedKStream<String, String> sliding(Plan plan, Params params) {
        return grouped(plan).windowedBy(slidingWindows(params));
    }

    static SessionWindows sessionWindows(Params params) {
        return SessionWindows.ofInactivityGapAndGrace(params.ms("gap"), params.ms("grace", 0));
    }

    static SessionWindowedKStream<String, String> session(Plan plan, Params params) {
        return grouped(plan).windowedBy(sessionWindows(params));
    }

    private static TimeWindowedKStream<String, String> unlimited(Plan plan, Params params) {
        return grouped(plan).windowedBy(
            UnlimitedWindows.of().startOn(Instant.ofEpochMilli(params.longNumber("start"))));
    }

    private static KGroupedStream<String, String> grouped(Plan plan) {
        return plan.stream("in").groupByKey();
    }
}
