package headrace.conformance;

import java.time.Instant;
import java.util.List;
import java.util.Set;
import java.util.function.Supplier;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.kstream.Windowed;
import org.apache.kafka.streams.kstream.internals.SessionWindow;
import org.apache.kafka.streams.processor.api.ContextualProcessor;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorSupplier;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.query.MultiVersionedKeyQuery;
import org.apache.kafka.streams.query.PositionBound;
import org.apache.kafka.streams.query.QueryConfig;
import org.apache.kafka.streams.state.AggregationWithHeaders;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.SessionStore;
import org.apache.kafka.streams.state.SessionStoreWithHeaders;
import org.apache.kafka.streams.state.StoreBuilder;
import org.apache.kafka.streams.state.Stores;
import org.apache.kafka.streams.state.TimestampedKeyValueStore;
import org.apache.kafka.streams.state.TimestampedKeyValueStoreWithHeaders;
import org.apache.kafka.streams.state.TimestampedWindowStore;
import org.apache.kafka.streams.state.TimestampedWindowStoreWithHeaders;
import org.apache.kafka.streams.state.ValueAndTimestamp;
import org.apache.kafka.streams.state.ValueTimestampHeaders;
import org.apache.kafka.streams.state.VersionedKeyValueStore;
import org.apache.kafka.streams.state.VersionedRecord;
import org.apache.kafka.streams.state.WindowStore;

/** The stores of processors: reverse scans, bounded, timestamped and versioned stores, headers. */
final class StoreReads {
    private static final long REACH_MS = 40;

    private StoreReads() {
    }

    /** Puts each record, and lists its store backwards, in parts, and by a prefix. */
    static void storeReverse(Plan plan, Params params) {
        run(plan, Reversing::new, Processors.kept("rows"));
    }

    private static final class Reversing extends ContextualProcessor<String, String, String, String> {
        @Override
        public void process(Record<String, String> record) {
            KeyValueStore<String, String> rows = context().getStateStore("rows");
            rows.put(record.key(), record.value());
            context().forward(record.withValue(String.join("|",
                listed(rows.reverseAll()),
                listed(rows.reverseRange("b", "c")),
                listed(rows.reverseRange(null, "bb")),
                listed(rows.prefixScan("b", new StringSerializer())))));
        }
    }

    /** Puts two rows with timestamps at once, and lists its store forwards and backwards. */
    static void storePutAll(Plan plan, Params params) {
        run(plan, PuttingAll::new, Stores.timestampedKeyValueStoreBuilder(
            Stores.persistentTimestampedKeyValueStore("rows"), Serdes.String(), Serdes.String()));
    }

    private static final class PuttingAll extends ContextualProcessor<String, String, String, String> {
        @Override
        public void process(Record<String, String> record) {
            TimestampedKeyValueStore<String, String> rows = context().getStateStore("rows");
            String key = record.key();
            rows.putAll(List.of(
                KeyValue.pair(key, ValueAndTimestamp.make(record.value(), record.timestamp())),
                KeyValue.pair(key + key, ValueAndTimestamp.make(record.value(), record.timestamp() + 1))));
            context().forward(record.withValue(String.join("|",
                timed(rows.range("aa", "c")), timed(rows.reverseRange("aa", "c")), timed(rows.reverseAll()))));
        }

        private static String timed(KeyValueIterator<String, ValueAndTimestamp<String>> entries) {
            StringBuilder text = new StringBuilder();
            try (entries) {
                entries.forEachRemaining(entry -> text.append(entry.key).append('=').append(entry.value.value())
                    .append('@').append(entry.value.timestamp()).append(';'));
            }
            return text.toString();
        }
    }

    /** Puts each record, gets its key for "get", puts it if it is absent for "if ..."; lists what is left. */
    static void storeLru(Plan plan, Params params) {
        run(plan, Bounded::new, Stores.keyValueStoreBuilder(
            Stores.lruMap("rows", params.number("entries")), Serdes.String(), Serdes.String()));
    }

    private static final class Bounded extends ContextualProcessor<String, String, String, String> {
        @Override
        public void process(Record<String, String> record) {
            KeyValueStore<String, String> rows = context().getStateStore("rows");
            String value = record.value();
            String answer = null;
            if (value == null) {
                answer = rows.delete(record.key());
            } else if (value.equals("get")) {
                answer = rows.get(record.key());
            } else if (value.startsWith("if ")) {
                answer = rows.putIfAbsent(record.key(), value.substring(3));
            } else {
                rows.put(record.key(), value);
            }
            context().forward(record.withValue(String.join("|",
                Functions.show(answer),
                Long.toString(rows.approximateNumEntries()),
                listed(rows.all()),
                listed(rows.reverseRange("a", "c")),
                listed(rows.reverseAll()))));
        }
    }

    /** Puts each record into its window, and reads windows backwards. */
    static void storeWindowsBackward(Plan plan, Params params) {
        windowsBackward(plan, params, false);
    }

    static void storeDuplicatesBackward(Plan plan, Params params) {
        windowsBackward(plan, params, true);
    }

    private static void windowsBackward(Plan plan, Params params, boolean duplicates) {
        long size = params.number("size");
        run(plan, () -> new BackwardWindows(size), Stores.windowStoreBuilder(
            Stores.persistentWindowStore("windows", params.ms("retention"), params.ms("size"), duplicates),
            Serdes.String(),
            Serdes.String()));
    }

    private static final class BackwardWindows extends ContextualProcessor<String, String, String, String> {
        private final long size;

        BackwardWindows(long size) {
            this.size = size;
        }

        @Override
        public void process(Record<String, String> record) {
            WindowStore<String, String> windows = context().getStateStore("windows");
            String key = record.key();
            long at = record.timestamp();
            windows.put(key, record.value(), at - at % size);
            long from = Math.max(at - REACH_MS, 0);
            long to = at + REACH_MS;
            context().forward(record.withValue(String.join("|",
                listed(windows.fetch(key, from, to)),
                listed(windows.backwardFetch(key, from, to)),
                windows(windows.fetch("a", "b", from, to)),
                windows(windows.backwardFetch("a", "b", from, to)),
                windows(windows.backwardFetchAll(from, to)),
                windows(windows.backwardAll()))));
        }
    }

    /** Puts each record into its window with its timestamp, and reads windows with their timestamps. */
    static void storeTimestampedWindows(Plan plan, Params params) {
        long size = params.number("size");
        run(plan, () -> new TimedWindows(size), Stores.timestampedWindowStoreBuilder(
            Stores.persistentTimestampedWindowStore("windows", params.ms("retention"), params.ms("size"), false),
            Serdes.String(),
            Serdes.String()));
    }

    private static final class TimedWindows extends ContextualProcessor<String, String, String, String> {
        private final long size;

        TimedWindows(long size) {
            this.size = size;
        }

        @Override
        public void process(Record<String, String> record) {
            TimestampedWindowStore<String, String> windows = context().getStateStore("windows");
            long at = record.timestamp();
            long start = at - at % size;
            windows.put(record.key(), ValueAndTimestamp.make(record.value(), at), start);
            ValueAndTimestamp<String> found = windows.fetch(record.key(), start);
            StringBuilder text = new StringBuilder();
            text.append(found == null ? "_" : found.value() + "@" + found.timestamp()).append('|');
            try (var all = windows.backwardAll()) {
                all.forEachRemaining(entry -> text.append(entry.key.key()).append('@')
                    .append(entry.key.window().start()).append('=').append(entry.value.value())
                    .append('@').append(entry.value.timestamp()).append(';'));
            }
            context().forward(record.withValue(text.toString()));
        }
    }

    /** Puts each record as a session that ends at its timestamp, and finds sessions in all ways. */
    static void storeSessionsBackward(Plan plan, Params params) {
        run(plan, BackwardSessions::new, Stores.sessionStoreBuilder(
            Stores.persistentSessionStore("sessions", params.ms("retention")), Serdes.String(), Serdes.String()));
    }

    private static final class BackwardSessions extends ContextualProcessor<String, String, String, String> {
        @Override
        public void process(Record<String, String> record) {
            SessionStore<String, String> sessions = context().getStateStore("sessions");
            String key = record.key();
            long at = record.timestamp();
            sessions.put(new Windowed<>(key, new SessionWindow(at - at % 13, at)), record.value());
            long earliest = Math.max(at - REACH_MS, 0);
            long latest = at + 5;
            context().forward(record.withValue(String.join("|",
                found(sessions.findSessions(key, earliest, latest)),
                found(sessions.backwardFindSessions(key, earliest, latest)),
                found(sessions.findSessions("a", "b", earliest, latest)),
                found(sessions.backwardFindSessions("a", "b", earliest, latest)),
                found(sessions.backwardFetch(key)),
                found(sessions.backwardFetch("a", "b")))));
        }

        private static String found(KeyValueIterator<Windowed<String>, String> sessions) {
            StringBuilder text = new StringBuilder();
            try (sessions) {
                sessions.forEachRemaining(entry -> text.append(entry.key.key()).append('@')
                    .append(entry.key.window().start()).append('-').append(entry.key.window().end())
                    .append('=').append(entry.value).append(';'));
            }
            return text.toString();
        }
    }

    /** Puts each record as a version, and reads the history of its key: all, a part, and as of a time. */
    static void storeVersions(Plan plan, Params params) {
        run(plan, Historian::new, Stores.versionedKeyValueStoreBuilder(
            Stores.persistentVersionedKeyValueStore("versions", params.ms("history")),
            Serdes.String(),
            Serdes.String()));
    }

    private static final class Historian extends ContextualProcessor<String, String, String, String> {
        @Override
        public void process(Record<String, String> record) {
            VersionedKeyValueStore<String, String> versions = context().getStateStore("versions");
            String key = record.key();
            long at = record.timestamp();
            long put = versions.put(key, record.value(), at);
            Instant from = Instant.ofEpochMilli(Math.max(at - 25, 0));
            Instant to = Instant.ofEpochMilli(at + 15);
            MultiVersionedKeyQuery<String, String> all = MultiVersionedKeyQuery.withKey(key);
            MultiVersionedKeyQuery<String, String> part = all.fromTime(from).toTime(to);
            context().forward(record.withValue(String.join("|",
                Long.toString(put),
                history(versions, all.withAscendingTimestamps()),
                history(versions, all.withDescendingTimestamps()),
                history(versions, part.withAscendingTimestamps()),
                history(versions, part.withDescendingTimestamps()),
                history(versions, all.toTime(Instant.ofEpochMilli(at)).withAscendingTimestamps()),
                valid(versions.get(key, from.toEpochMilli())),
                valid(versions.get(key)))));
        }

        private static String history(
                VersionedKeyValueStore<String, String> versions, MultiVersionedKeyQuery<String, String> query) {
            StringBuilder text = new StringBuilder();
            try (var found = versions.query(query, PositionBound.unbounded(), new QueryConfig(false)).getResult()) {
                found.forEachRemaining(record -> text.append(valid(record)).append('-')
                    .append(Functions.show(record.validTo().orElse(null))).append(';'));
            }
            return text.toString();
        }

        private static String valid(VersionedRecord<String> record) {
            return record == null ? "" : record.value() + "@" + record.timestamp();
        }
    }

    /** Stores each record with its headers in a row, a window and a session; forwards what was there before. */
    static void storeHeaders(Plan plan, Params params) {
        run(plan, WithHeaders::new,
            Stores.timestampedKeyValueStoreWithHeadersBuilder(
                Stores.persistentTimestampedKeyValueStoreWithHeaders("rows"), Serdes.String(), Serdes.String()),
            Stores.timestampedWindowStoreWithHeadersBuilder(
                Stores.persistentTimestampedWindowStoreWithHeaders(
                    "windows", java.time.Duration.ofMillis(10_000), java.time.Duration.ofMillis(10), false),
                Serdes.String(),
                Serdes.String()),
            Stores.sessionStoreWithHeadersBuilder(
                Stores.persistentSessionStoreWithHeaders("sessions", java.time.Duration.ofMillis(10_000)),
                Serdes.String(),
                Serdes.String()));
    }

    private static final class WithHeaders extends ContextualProcessor<String, String, String, String> {
        @Override
        public void process(Record<String, String> record) {
            TimestampedKeyValueStoreWithHeaders<String, String> rows = context().getStateStore("rows");
            TimestampedWindowStoreWithHeaders<String, String> windows = context().getStateStore("windows");
            SessionStoreWithHeaders<String, String> sessions = context().getStateStore("sessions");
            String key = record.key();
            long at = record.timestamp();
            long start = at - at % 10;
            ValueTimestampHeaders<String> row = rows.get(key);
            ValueTimestampHeaders<String> window = windows.fetch(key, start);
            AggregationWithHeaders<String> session = sessions.fetchSession(key, 0, start);
            forward(record, row);
            forward(record, window);
            if (session != null) {
                context().forward(record.withValue(session.aggregation()).withHeaders(session.headers()));
            }
            var stored = ValueTimestampHeaders.make(record.value(), at, record.headers());
            rows.put(key, stored);
            windows.put(key, stored, start);
            sessions.put(
                new Windowed<>(key, new SessionWindow(0, start)),
                AggregationWithHeaders.make(record.value(), record.headers()));
        }

        private void forward(Record<String, String> record, ValueTimestampHeaders<String> stored) {
            if (stored != null) {
                context().forward(
                    record.withValue(stored.value() + "@" + stored.timestamp()).withHeaders(stored.headers()));
            }
        }
    }

    private static <K> String listed(KeyValueIterator<K, String> entries) {
        StringBuilder text = new StringBuilder();
        try (entries) {
            entries.forEachRemaining(entry -> text.append(entry.key).append('=').append(entry.value).append(';'));
        }
        return text.toString();
    }

    private static String windows(KeyValueIterator<Windowed<String>, String> entries) {
        StringBuilder text = new StringBuilder();
        try (entries) {
            entries.forEachRemaining(entry -> text.append(entry.key.key()).append('@')
                .append(entry.key.window().start()).append('=').append(entry.value).append(';'));
        }
        return text.toString();
    }

    private static void run(
            Plan plan, Supplier<Processor<String, String, String, String>> make, StoreBuilder<?>... stores) {
        plan.write(plan.stream("in").process(new ProcessorSupplier<String, String, String, String>() {
            @Override
            public Processor<String, String, String, String> get() {
                return make.get();
            }

            @Override
            public Set<StoreBuilder<?>> stores() {
                return Set.of(stores);
            }
        }));
    }
}
