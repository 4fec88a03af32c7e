package headrace.conformance;

import org.apache.kafka.streams.kstream.JoinWindows;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.Repartitioned;
import org.apache.kafka.streams.kstream.StreamJoined;

/** Joins of two streams. */
final class StreamJoins {
    private static final StreamJoined<String, String, String> TEXTS =
        StreamJoined.with(Plan.TEXT, Plan.TEXT, Plan.TEXT);

    private StreamJoins() {
    }

    static void streamStreamJoin(Plan plan, Params params) {
        plan.write(plan.stream("left").join(plan.stream("right"), Functions::joined, within(params), TEXTS));
    }

    static void streamStreamLeftJoin(Plan plan, Params params) {
        plan.write(plan.stream("left").leftJoin(plan.stream("right"), Functions::joined, within(params), TEXTS));
    }

    static void streamStreamOuterJoin(Plan plan, Params params) {
        plan.write(plan.stream("left").outerJoin(plan.stream("right"), Functions::joined, within(params), TEXTS));
    }

    static void streamSelfJoin(Plan plan, Params params) {
        KStream<String, String> stream = plan.stream("in");
        plan.write(stream.join(stream, Functions::joined, within(params), TEXTS));
    }

    static void streamStreamJoinByHead(Plan plan, Params params) {
        plan.write(byHead(plan, "left").join(byHead(plan, "right"), Functions::joined, within(params), TEXTS));
    }

    static void streamStreamLeftJoinByHead(Plan plan, Params params) {
        plan.write(byHead(plan, "left").leftJoin(byHead(plan, "right"), Functions::joined, within(params), TEXTS));
    }

    static void streamStreamOuterJoinByHead(Plan plan, Params params) {
        plan.write(byHead(plan, "left").outerJoin(byHead(plan, "right"), Functions::joined, within(params), TEXTS));
    }

    static void streamStreamJoinAndCount(Plan plan, Params params) {
        plan.writeNumbers(plan.stream("left")
            .leftJoin(plan.stream("right"), Functions::joined, within(params), TEXTS)
            .groupByKey()
            .count());
    }

    static void leftJoinAndCountAfterRepartition(Plan plan, Params params) {
        KStream<String, String> again = plan.stream("right").repartition(Repartitioned.as("again"));
        plan.write(plan.stream("left").leftJoin(again, Functions::joined, within(params), TEXTS));
        plan.write(
            again.selectKey((key, value) -> Functions.head(value)).groupByKey().count().toStream(),
            "counts", Format.TEXT, Format.NUMBER);
    }

    static void threeStreamsJoin(Plan plan, Params params) {
        plan.write(plan.stream("left")
            .join(plan.stream("right"), Functions::joined, within(params), TEXTS)
            .join(plan.stream("third"), Functions::joined, within(params), TEXTS));
    }

    private static KStream<String, String> byHead(Plan plan, String topic) {
        return plan.stream(topic).selectKey((key, value) -> Functions.head(value));
    }

    static JoinWindows within(Params params) {
        JoinWindows windows =
            JoinWindows.ofTimeDifferenceAndGrace(params.ms("difference"), params.ms("grace", 0));
        windows = params.has("before") ? windows.before(params.ms("before")) : windows;
        return params.has("after") ? windows.after(params.ms("after")) : windows;
    }
}
