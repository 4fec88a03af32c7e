package headrace.conformance;

import org.apache.kafka.streams.kstream.CogroupedKStream;

/** Several grouped streams folded into one aggregate. */
final class Cogroups {
    private Cogroups() {
    }

    static void cogroup(Plan plan, Params params) {
        plan.write(two(plan).aggregate(() -> ""));
    }

    static void cogroupThree(Plan plan, Params params) {
        plan.write(two(plan)
            .cogroup(plan.stream("third").groupByKey(), Functions::concatOrDelete)
            .aggregate(() -> ""));
    }

    static void cogroupByHead(Plan plan, Params params) {
        plan.write(plan.stream("in").groupBy((key, value) -> Functions.head(value))
            .<String>cogroup(Functions::concat)
            .cogroup(plan.stream("other").groupByKey(), Cogroups::starred)
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

    private static CogroupedKStream<String, String> two(Plan plan) {
        return plan.stream("in").groupByKey()
            .<String>cogroup(Functions::concat)
            .cogroup(plan.stream("other").groupByKey(), Cogroups::starred);
    }

    private static String starred(String key, String value, String aggregate) {
        return aggregate + "*" + Functions.show(value);
    }
}
