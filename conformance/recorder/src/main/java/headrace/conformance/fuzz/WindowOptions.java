package headrace.conformance.fuzz;

import com.fasterxml.jackson.databind.JsonNode;
import java.time.Duration;
import java.time.Instant;
import org.apache.kafka.streams.kstream.JoinWindows;
import org.apache.kafka.streams.kstream.SessionWindows;
import org.apache.kafka.streams.kstream.SlidingWindows;
import org.apache.kafka.streams.kstream.Suppressed;
import org.apache.kafka.streams.kstream.Suppressed.BufferConfig;
import org.apache.kafka.streams.kstream.TimeWindows;
import org.apache.kafka.streams.kstream.UnlimitedWindows;

/** Windows and suppressions of a description. */
final class WindowOptions {
    private WindowOptions() {
    }

    static Duration ms(JsonNode options, String name) {
        return Duration.ofMillis(options.path(name).longValue());
    }

    static TimeWindows time(JsonNode windows) {
        TimeWindows time = TimeWindows.ofSizeAndGrace(ms(windows, "size"), ms(windows, "grace"));
        return windows.has("advance") ? time.advanceBy(ms(windows, "advance")) : time;
    }

    static SlidingWindows sliding(JsonNode windows) {
        return SlidingWindows.ofTimeDifferenceAndGrace(ms(windows, "difference"), ms(windows, "grace"));
    }

    static SessionWindows session(JsonNode windows) {
        return SessionWindows.ofInactivityGapAndGrace(ms(windows, "gap"), ms(windows, "grace"));
    }

    static UnlimitedWindows unlimited(JsonNode windows) {
        return UnlimitedWindows.of().startOn(Instant.ofEpochMilli(windows.get("start").longValue()));
    }

    static JoinWindows join(JsonNode node) {
        boolean both = node.has("before") && node.has("after");
        Duration difference = both ? Duration.ofDays(1) : ms(node, "difference");
        JoinWindows windows = JoinWindows.ofTimeDifferenceAndGrace(difference, ms(node, "grace"));
        windows = node.has("before") ? windows.before(ms(node, "before")) : windows;
        return node.has("after") ? windows.after(ms(node, "after")) : windows;
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    static Suppressed<Object> suppressed(JsonNode node) {
        boolean limited = node.has("max_records");
        if (!node.has("limit")) {
            return (Suppressed) Suppressed.untilWindowCloses(
                limited ? BufferConfig.maxRecords(node.get("max_records").longValue()).shutDownWhenFull()
                    : BufferConfig.unbounded());
        }
        BufferConfig buffer = limited
            ? BufferConfig.maxRecords(node.get("max_records").longValue()).emitEarlyWhenFull()
            : BufferConfig.unbounded();
        return Suppressed.untilTimeLimit(ms(node, "limit"), buffer);
    }
}
