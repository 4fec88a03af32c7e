package headrace.conformance;

import java.util.Map;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Suppressed;
import org.apache.kafka.streams.kstream.Suppressed.BufferConfig;
import org.apache.kafka.streams.kstream.TimeWindowedKStream;
import org.apache.kafka.streams.kstream.Windows;
import org.apache.kafka.streams.kstream.internals.TimeWindow;

/** Aggregations in windows of the user's own: a subclass of Kafka's {@code Windows}. */
final class OwnWindows {
    private OwnWindows() {
    }

    static void ownWindowCount(Plan plan, Params params) {
        plan.writeWindowNumbers(windowed(plan, params).count());
    }

    static void ownWindowReduce(Plan plan, Params params) {
        plan.writeWindows(windowed(plan, params).reduce(Functions::appended));
    }

    static void ownWindowAggregate(Plan plan, Params params) {
        plan.writeWindows(windowed(plan, params).aggregate(() -> "", Functions::concatOrDelete));
    }

    static void suppressOwnWindow(Plan plan, Params params) {
        plan.writeWindowNumbers(windowed(plan, params)
            .count(Materialized.with(Plan.TEXT, Serdes.Long()))
            .suppress(Suppressed.untilWindowCloses(BufferConfig.unbounded())));
    }

    static void cogroupOwnWindow(Plan plan, Params params) {
        plan.writeWindows(Cogroups.two(plan).windowedBy(new Shifts(params)).aggregate(() -> ""));
    }

    private static TimeWindowedKStream<String, String> windowed(Plan plan, Params params) {
        return plan.stream("in").groupByKey().windowedBy(new Shifts(params));
    }

    /** From {@code offset} on, windows of {@code size} and, if there is one, of {@code rest} take turns. */
    private static final class Shifts extends Windows<TimeWindow> {
        private final long offset;
        private final long size;
        private final long rest;
        private final long grace;

        Shifts(Params params) {
            offset = params.longNumber("offset");
            size = params.longNumber("size");
            rest = params.ms("rest", 0).toMillis();
            grace = params.ms("grace", 0).toMillis();
        }

        @Override
        public Map<Long, TimeWindow> windowsFor(long timestamp) {
            if (timestamp < offset) {
                return Map.of();
            }
            long within = (timestamp - offset) % (size + rest);
            long start = timestamp - within;
            TimeWindow window = within < size
                ? new TimeWindow(start, start + size)
                : new TimeWindow(start + size, start + size + rest);
            return Map.of(window.start(), window);
        }

        @Override
        public long size() {
            return size;
        }

        @Override
        public long gracePeriodMs() {
            return grace;
        }
    }
}
