package headrace.conformance.fuzz;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.Map;
import org.apache.kafka.streams.kstream.Windows;
import org.apache.kafka.streams.kstream.internals.TimeWindow;

/** Windows of one's own: from {@code offset} on, windows of {@code size} and, if there is one, of {@code rest} take turns. */
final class Shifts extends Windows<TimeWindow> {
    private final long offset;
    private final long size;
    private final long rest;
    private final long grace;

    Shifts(JsonNode windows) {
        offset = windows.get("offset").longValue();
        size = windows.get("size").longValue();
        rest = windows.path("rest").longValue();
        grace = windows.get("grace").longValue();
    }

    @Override
    public Map<Long, TimeWindow> windowsFor(long timestamp) {
        if (timestamp < offset) {
            return Map.of();
        }
        long within = (timestamp - offset) % (size + rest);
        long start = timestamp - within;
        TimeWindow window = within < size
            ? new TimeWindow(start, start + size) : new TimeWindow(start + size, start + size + rest);
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
