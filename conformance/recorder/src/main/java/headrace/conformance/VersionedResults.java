package headrace.conformance;

import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Joined;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.KTable;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.Stores;

/** Operators whose result is in a versioned store, or in a store of a given kind. */
final class VersionedResults {
    private VersionedResults() {
    }

    static void tableFilterVersioned(Plan plan, Params params) {
        plan.write(source(plan, "in", params).filter(Functions::isLong, texts(params)));
    }

    static void tableMapValuesVersioned(Plan plan, Params params) {
        plan.write(source(plan, "in", params).mapValues(Functions::shout, texts(params)));
    }

    static void versionedTableFilterStored(Plan plan, Params params) {
        plan.write(plan.versionedTable("in", params).filter(Functions::isLong, Plan.store("result")));
    }

    static void versionedTableMapValuesStored(Plan plan, Params params) {
        plan.write(plan.versionedTable("in", params).mapValues(Functions::shout, Plan.store("result")));
    }

    static void tableFilterVersionedAndAggregate(Plan plan, Params params) {
        plan.write(source(plan, "in", params)
            .filter(Functions::isLong, texts(params))
            .groupBy(Functions::byGroup, Grouped.with(Plan.TEXT, Plan.TEXT))
            .aggregate(() -> ">", Functions::plus, Functions::minus, Materialized.with(Plan.TEXT, Plan.TEXT)));
    }

    static void countVersioned(Plan plan, Params params) {
        plan.writeNumbers(plan.stream("in").groupByKey().count(versioned(params, Serdes.Long())));
    }

    static void reduceVersioned(Plan plan, Params params) {
        plan.write(plan.stream("in").groupByKey().reduce(
            (aggregate, value) -> value.equals("del") ? null : Functions.appended(aggregate, value), texts(params)));
    }

    static void aggregateVersioned(Plan plan, Params params) {
        plan.write(plan.stream("in").groupByKey().aggregate(() -> "", Functions::concatOrDelete, texts(params)));
    }

    static void reduceVersionedAndAggregate(Plan plan, Params params) {
        plan.write(plan.stream("in")
            .groupByKey()
            .reduce(Functions::appended, texts(params))
            .groupBy(Functions::underA, Grouped.with(Plan.TEXT, Plan.TEXT))
            .aggregate(() -> ">", Functions::plus, Functions::minus, Materialized.with(Plan.TEXT, Plan.TEXT)));
    }

    static void tableAggregateVersioned(Plan plan, Params params) {
        plan.write(plan.table("in")
            .groupBy(Functions::byGroup, Grouped.with(Plan.TEXT, Plan.TEXT))
            .aggregate(() -> ">", Functions::plus, Functions::minus, texts(params)));
    }

    static void cogroupVersioned(Plan plan, Params params) {
        plan.write(plan.stream("in").groupByKey()
            .cogroup(Functions::concatOrDelete)
            .cogroup(plan.stream("other").groupByKey(), Functions::concat)
            .aggregate(() -> "", texts(params)));
    }

    static void tablesJoinVersioned(Plan plan, Params params) {
        KTable<String, String> left = source(plan, "left", params);
        KTable<String, String> right = plan.table("right");
        plan.write(switch (params.text("kind", "inner")) {
            case "left" -> left.leftJoin(right, Functions::joined, texts(params));
            case "outer" -> left.outerJoin(right, Functions::joined, texts(params));
            default -> left.join(right, Functions::joined, texts(params));
        });
    }

    static void foreignKeyJoinVersioned(Plan plan, Params params) {
        plan.write(plan.table("left").join(
            plan.table("right"), Functions::group, Functions::joined, texts(params)));
    }

    static void tableTransformValuesVersioned(Plan plan, Params params) {
        plan.write(source(plan, "in", params).transformValues(Transformations.Shouting::new, texts(params)));
    }

    static void streamJoinVersionedCount(Plan plan, Params params) {
        KTable<String, Long> counts = plan.stream("table").groupByKey().count(versioned(params, Serdes.Long()));
        plan.write(plan.stream("stream").leftJoin(
            counts,
            (String value, Long count) -> Functions.joined(value, count),
            Joined.with(Plan.TEXT, Plan.TEXT, Serdes.Long())));
    }

    static void streamJoinVersionedFilter(Plan plan, Params params) {
        KTable<String, String> rows = plan.table("table").filter(Functions::isLong, texts(params));
        KStream<String, String> stream = plan.stream("stream");
        plan.write(stream.leftJoin(rows, Functions::joined, Joined.with(Plan.TEXT, Plan.TEXT, Plan.TEXT)));
    }

    static void countInGivenStore(Plan plan, Params params) {
        plan.writeNumbers(plan.stream("in").groupByKey().count(
            Materialized.<String, Long>as(Stores.inMemoryKeyValueStore("counts"))
                .withKeySerde(Plan.TEXT)
                .withValueSerde(Serdes.Long())));
    }

    private static KTable<String, String> source(Plan plan, String topic, Params params) {
        return params.flag("versioned") ? plan.versionedTable(topic, params) : plan.table(topic);
    }

    private static Materialized<String, String, KeyValueStore<Bytes, byte[]>> texts(Params params) {
        return versioned(params, Plan.TEXT);
    }

    private static <V> Materialized<String, V, KeyValueStore<Bytes, byte[]>> versioned(Params params, Serde<V> values) {
        return Materialized.<String, V>as(
                Stores.persistentVersionedKeyValueStore("result", params.ms("result_history")))
            .withKeySerde(Plan.TEXT)
            .withValueSerde(values);
    }
}
