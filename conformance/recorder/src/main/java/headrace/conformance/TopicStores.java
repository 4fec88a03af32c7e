package headrace.conformance;

import java.nio.charset.StandardCharsets;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.processor.api.ContextualProcessor;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.StoreBuilder;

/** Stores that a processor maintains from a topic, stores that suppliers declare, headers that a processor edits. */
final class TopicStores {
    private TopicStores() {
    }

    /** Looks up rows by the first letter of the value, in a store that is complete in every task. */
    static void globalStore(Plan plan, Params params) {
        plan.builder.addGlobalStore(
            Processors.kept("rows").withLoggingDisabled(), "table", Consumed.with(Plan.TEXT, Plan.TEXT), Collecting::new);
        plan.write(plan.stream("stream").process(LookingUpHead::new));
    }

    /** Looks up rows by key, in a store that is partitioned like its topic. */
    static void readOnlyStore(Plan plan, Params params) {
        Topology topology = new Topology();
        topology.addSource("source", Plan.TEXT.deserializer(), Plan.TEXT.deserializer(), "stream");
        topology.addProcessor("look", LookingUpKey::new, "source");
        topology.addReadOnlyStateStore(
            Processors.kept("rows"), "table", Plan.TEXT.deserializer(), Plan.TEXT.deserializer(), "table", "keep",
            Collecting::new);
        topology.connectProcessorAndStateStores("look", "rows");
        topology.addSink("sink", "out", Plan.TEXT.serializer(), Plan.TEXT.serializer(), "look");
        plan.output("out", Format.TEXT, Format.TEXT);
        plan.use(topology);
    }

    /** Appends each value, with its timestamp and headers, to the row of its key; a null deletes the row. */
    private static final class Collecting extends ContextualProcessor<String, String, Void, Void> {
        @Override
        public void process(Record<String, String> record) {
            KeyValueStore<String, String> rows = context().getStateStore("rows");
            String key = Functions.show(record.key());
            StringBuilder row = new StringBuilder(record.value() + "@" + record.timestamp());
            for (Header header : record.headers()) {
                row.append(header.key());
            }
            rows.put(key, record.value() == null ? null : Functions.appended(rows.get(key), row.toString()));
        }
    }

    private static final class LookingUpHead extends ContextualProcessor<String, String, String, String> {
        @Override
        public void process(Record<String, String> record) {
            KeyValueStore<String, String> rows = context().getStateStore("rows");
            String row = rows.get(Functions.show(Functions.head(record.value())));
            context().forward(record.withValue(Functions.joined(record.value(), row)));
        }
    }

    private static final class LookingUpKey extends ContextualProcessor<String, String, String, String> {
        @Override
        public void process(Record<String, String> record) {
            KeyValueStore<String, String> rows = context().getStateStore("rows");
            String row = rows.get(Functions.show(record.key()));
            context().forward(record.withValue(Functions.joined(record.value(), row)));
        }
    }

    /** Two suppliers declare the same store: records of "in" write to it, records of "other" read it. */
    static void processDeclaredStores(Plan plan, Params params) {
        StoreBuilder<KeyValueStore<String, String>> shared = Processors.kept("shared");
        plan.stream("in").process(Processors.supplier(Processors.Writer::new, shared));
        plan.write(plan.stream("other").process(Processors.supplier(Processors.Reader::new, shared)));
    }

    /** Forwards the last "trace" header as the value, removes the "flag" headers, and adds a header. */
    static void processEditHeaders(Plan plan, Params params) {
        plan.write(plan.stream("in").process(Editing::new));
    }

    private static final class Editing extends ContextualProcessor<String, String, String, String> {
        @Override
        public void process(Record<String, String> record) {
            Header last = record.headers().lastHeader("trace");
            String seen = last == null ? null : new String(last.value(), StandardCharsets.UTF_8);
            Record<String, String> edited = record.withValue(Functions.joined(record.value(), seen));
            edited.headers().remove("flag").add("seen", Functions.show(seen).getBytes(StandardCharsets.UTF_8));
            context().forward(edited);
        }
    }
}
