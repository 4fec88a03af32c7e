package headrace.conformance;

import java.time.Duration;
import java.time.Instant;
import org.apache.kafka.streams.processor.Cancellable;
import org.apache.kafka.streams.processor.PunctuationType;
import org.apache.kafka.streams.processor.api.ContextualProcessor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.KeyValueStore;

/** Processors with schedules. Each firing is written as ("tick", the time it received). */
final class Punctuations {
    private Punctuations() {
    }

    static void punctuateStreamTime(Plan plan, Params params) {
        plan.write(plan.stream("in").process(() ->
            new Ticking(params.ms("interval"), PunctuationType.STREAM_TIME)));
    }

    static void punctuateWallClock(Plan plan, Params params) {
        plan.write(plan.stream("in").process(() ->
            new Ticking(params.ms("interval"), PunctuationType.WALL_CLOCK_TIME)));
    }

    private static class Ticking extends ContextualProcessor<String, String, String, String> {
        private final Duration interval;
        private final PunctuationType type;

        Ticking(Duration interval, PunctuationType type) {
            this.interval = interval;
            this.type = type;
        }

        @Override
        public void init(ProcessorContext<String, String> context) {
            super.init(context);
            start();
        }

        void start() {
            context().schedule(interval, type, this::tick);
        }

        @Override
        public void process(Record<String, String> record) {
            context().forward(record);
        }

        void tick(long timestamp) {
            context().forward(new Record<>("tick", String.valueOf(timestamp), timestamp));
        }
    }

    /** A grid with a fixed start: Kafka's anchored schedule, our time shift. */
    static void punctuateAnchoredStreamTime(Plan plan, Params params) {
        plan.write(plan.stream("in").process(() -> new Anchored(params, PunctuationType.STREAM_TIME)));
    }

    static void punctuateAnchoredWallClock(Plan plan, Params params) {
        plan.write(plan.stream("in").process(() -> new Anchored(params, PunctuationType.WALL_CLOCK_TIME)));
    }

    private static final class Anchored extends Ticking {
        private final Params params;
        private final PunctuationType type;

        Anchored(Params params, PunctuationType type) {
            super(params.ms("interval"), type);
            this.params = params;
            this.type = type;
        }

        @Override
        void start() {
            context().schedule(
                Instant.ofEpochMilli(params.longNumber("start")), params.ms("interval"), type, this::tick);
        }
    }

    /** Fires a few times, then cancels itself. */
    static void punctuateCancel(Plan plan, Params params) {
        plan.write(plan.stream("in").process(() -> new Cancelling(params.ms("interval"), params.number("times"))));
    }

    private static final class Cancelling extends ContextualProcessor<String, String, String, String> {
        private final Duration interval;
        private int left;
        private Cancellable schedule;

        Cancelling(Duration interval, int times) {
            this.interval = interval;
            this.left = times;
        }

        @Override
        public void init(ProcessorContext<String, String> context) {
            super.init(context);
            schedule = context.schedule(interval, PunctuationType.WALL_CLOCK_TIME, this::tick);
        }

        @Override
        public void process(Record<String, String> record) {
            context().forward(record);
        }

        private void tick(long timestamp) {
            context().forward(new Record<>("tick", String.valueOf(timestamp), timestamp));
            left--;
            if (left == 0) {
                schedule.cancel();
            }
        }
    }

    /** Collects values by key; a wall-clock schedule forwards and deletes them in key order. */
    static void punctuateFlush(Plan plan, Params params) {
        plan.write(plan.stream("in").process(
            Processors.supplier(() -> new Flushing(params.ms("interval")), Processors.kept("held"))));
    }

    private static final class Flushing extends ContextualProcessor<String, String, String, String> {
        private final Duration interval;
        private KeyValueStore<String, String> held;

        Flushing(Duration interval) {
            this.interval = interval;
        }

        @Override
        public void init(ProcessorContext<String, String> context) {
            super.init(context);
            held = context.getStateStore("held");
            context.schedule(interval, PunctuationType.WALL_CLOCK_TIME, this::flush);
        }

        @Override
        public void process(Record<String, String> record) {
            if (record.key() != null) {
                held.put(record.key(), Functions.appended(held.get(record.key()), record.value()));
            }
        }

        private void flush(long timestamp) {
            try (var all = held.all()) {
                all.forEachRemaining(row -> {
                    context().forward(new Record<>(row.key, row.value, timestamp));
                    held.delete(row.key);
                });
            }
        }
    }
}
