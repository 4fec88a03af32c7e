package headrace.conformance;

import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Joined;
import org.apache.kafka.streams.kstream.KTable;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.ValueTransformerWithKey;
import org.apache.kafka.streams.processor.ProcessorContext;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.Stores;

/** Tables whose values a transformer computes. */
final class Transformations {
    private Transformations() {
    }

    static void tableTransformValues(Plan plan, Params params) {
        plan.write(transformed(plan, plan.table("in", params.flag("stored")), params));
    }

    static void tableTransformValuesOfDeletedRows(Plan plan, Params params) {
        plan.write(plan.table("in", params.flag("stored")).transformValues(ShownToo::new));
    }

    static void tableTransformValuesWithStore(Plan plan, Params params) {
        plan.write(numbered(plan, plan.table("in", params.flag("stored")), params));
    }

    static void tableTransformValuesAndAggregate(Plan plan, Params params) {
        aggregate(plan, transformed(plan, plan.table("in"), params));
    }

    static void tableTransformValuesWithStoreAndAggregate(Plan plan, Params params) {
        aggregate(plan, numbered(plan, plan.table("in"), params));
    }

    static void tableTransformValuesAndFilter(Plan plan, Params params) {
        plan.write(transformed(plan, plan.table("in", params.flag("stored")), params).filter(Functions::isLonger));
    }

    static void transformedTablesJoin(Plan plan, Params params) {
        KTable<String, String> left = transformed(plan, plan.table("left"), params);
        KTable<String, String> right = plan.table("right").transformValues(Shouting::new);
        plan.write("inner".equals(params.text("kind", "inner"))
            ? left.join(right, Functions::joined)
            : left.outerJoin(right, Functions::joined));
    }

    static void streamTransformedTableJoin(Plan plan, Params params) {
        plan.write(plan.stream("stream").leftJoin(
            transformed(plan, plan.table("table"), params),
            Functions::joined,
            Joined.with(Plan.TEXT, Plan.TEXT, Plan.TEXT)));
    }

    static void versionedTableTransformValues(Plan plan, Params params) {
        plan.write(plan.versionedTable("in", params).transformValues(Shouting::new));
    }

    static void versionedTableTransformValuesAndAggregate(Plan plan, Params params) {
        aggregate(plan, plan.versionedTable("in", params).transformValues(Shouting::new));
    }

    private static KTable<String, String> transformed(Plan plan, KTable<String, String> table, Params params) {
        return params.flag("result_stored")
            ? table.transformValues(Shouting::new, Plan.store("transformed"))
            : table.transformValues(Shouting::new);
    }

    private static KTable<String, String> numbered(Plan plan, KTable<String, String> table, Params params) {
        plan.builder.addStateStore(Stores.keyValueStoreBuilder(
            Stores.persistentKeyValueStore("numbers"), Plan.TEXT, Serdes.Long()));
        return params.flag("result_stored")
            ? table.transformValues(Numbering::new, Plan.store("transformed"), "numbers")
            : table.transformValues(Numbering::new, "numbers");
    }

    private static void aggregate(Plan plan, KTable<String, String> table) {
        plan.write(table
            .groupBy(Functions::byGroup, Grouped.with(Plan.TEXT, Plan.TEXT))
            .aggregate(() -> ">", Functions::plus, Functions::minus, Materialized.with(Plan.TEXT, Plan.TEXT)));
    }

    /** Appends an exclamation mark; "nil" and null become null. */
    static final class Shouting implements ValueTransformerWithKey<String, String, String> {
        @Override
        public void init(ProcessorContext context) {
        }

        @Override
        public String transform(String key, String value) {
            return value == null || value.equals("nil") ? null : Functions.shout(value);
        }

        @Override
        public void close() {
        }
    }

    /** Shows key and value, also of a deleted row. */
    private static final class ShownToo implements ValueTransformerWithKey<String, String, String> {
        @Override
        public void init(ProcessorContext context) {
        }

        @Override
        public String transform(String key, String value) {
            return Functions.joined(key, value);
        }

        @Override
        public void close() {
        }
    }

    /** Appends the number of calls for the key, which it stores; null stays null, but is counted. */
    private static final class Numbering implements ValueTransformerWithKey<String, String, String> {
        private KeyValueStore<String, Long> numbers;

        @Override
        public void init(ProcessorContext context) {
            numbers = context.getStateStore("numbers");
        }

        @Override
        public String transform(String key, String value) {
            Long before = numbers.get(key);
            long number = before == null ? 1 : before + 1;
            numbers.put(key, number);
            return value == null ? null : value + number;
        }

        @Override
        public void close() {
        }
    }
}
