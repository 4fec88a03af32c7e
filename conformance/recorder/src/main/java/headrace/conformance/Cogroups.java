package headrace.conformance;

import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.kstream.CogroupedKStream;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.KGroupedStream;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Suppressed;
import org.apache.kafka.streams.kstream.Suppressed.BufferConfig;

/** Several grouped streams folded into one aggregate. */
final class Cogroups {
    private Cogroups() {
    }

    static void cogroup(Plan plan, Params params) {
        plan.write(two(plan).aggregate(() -> ""));
    }

    static void cogroupThree(Plan plan, Params params) {
        plan.write(three(plan).aggregate(() -> ""));
    }

    /** An aggregation after a cogroup makes the old values that the cogroup forwards visible. */
    static void cogroupAndAggregate(Plan plan, Params params) {
        plan.write(three(plan).aggregate(() -> "", Materialized.with(Plan.TEXT, Plan.TEXT))
            .groupBy((key, value) -> KeyValue.pair(last(value), value), Grouped.with(Plan.TEXT, Plan.TEXT))
            .aggregate(() -> "", Functions::plus, Functions::minus));
    }

    static void cogroupByHead(Plan plan, Params params) {
        plan.write(plan.stream("in").groupBy((key, value) -> Functions.head(value))
            .<String>cogroup(Functions::concat)
            .cogroup(plan.stream("other").groupByKey(), Cogroups::starred)
            .aggregate(() -> ""));
    }

    static void cogroupByTwoHeads(Plan plan, Params params) {
        plan.write(byHead(plan, "in")
            .<String>cogroup(Functions::concat)
            .cogroup(byHead(plan, "other"), Cogroups::starred)
            .aggregate(() -> ""));
    }

    /** Cogroups a stream by its own key with the same stream by another key. */
    static void cogroupOfOneStream(Plan plan, Params params) {
        KStream<String, String> stream = plan.stream("in");
        plan.write(stream.groupByKey()
            .<String>cogroup(Functions::concat)
            .cogroup(stream.groupBy((key, value) -> Functions.head(value)), Cogroups::starred)
            .aggregate(() -> ""));
    }

    /** Cogroups the texts of a stream with the stream by another key: a late record's text is later than the record. */
    static void cogroupOfTexts(Plan plan, Params params) {
        KStream<String, String> stream = plan.stream("in");
        plan.write(stream.groupByKey()
            .aggregate(() -> "", Functions::concat)
            .toStream()
            .groupByKey()
            .<String>cogroup(Functions::concat)
            .cogroup(stream.groupBy((key, value) -> Functions.head(value)), Cogroups::starred)
            .aggregate(() -> ""));
    }

    static void cogroupTimeWindow(Plan plan, Params params) {
        plan.writeWindows(two(plan).windowedBy(Windows.timeWindows(params)).aggregate(() -> ""));
    }

    static void cogroupSlidingWindow(Plan plan, Params params) {
        plan.writeWindows(two(plan).windowedBy(Windows.slidingWindows(params)).aggregate(() -> ""));
    }

    static void cogroupSessionWindow(Plan plan, Params params) {
        plan.writeWindows(two(plan).windowedBy(Windows.sessionWindows(params)).aggregate(() -> "", Functions::merged));
    }

    static void suppressCogroupTimeWindow(Plan plan, Params params) {
        plan.writeWindows(two(plan).windowedBy(Windows.timeWindows(params))
            .aggregate(() -> "", Materialized.with(Plan.TEXT, Plan.TEXT))
            .suppress(Suppressed.untilWindowCloses(BufferConfig.unbounded())));
    }

    private static KGroupedStream<String, String> byHead(Plan plan, String topic) {
        return plan.stream(topic)
            .groupBy((key, value) -> Functions.head(value), Grouped.with(topic + "-by-head", Plan.TEXT, Plan.TEXT));
    }

    private static CogroupedKStream<String, String> three(Plan plan) {
        return two(plan).cogroup(plan.stream("third").groupByKey(), Functions::concatOrDelete);
    }

    static CogroupedKStream<String, String> two(Plan plan) {
        return plan.stream("in").groupByKey()
            .<String>cogroup(Functions::concat)
            .cogroup(plan.stream("other").groupByKey(), Cogroups::starred);
    }

    private static String last(String value) {
        return value.isEmpty() ? null : value.substring(value.length() - 1);
    }

    private static String starred(String key, String value, String aggregate) {
        return aggregate + "*" + Functions.show(value);
    }
}
