package headrace.conformance;

import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.KGroupedStream;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.Materialized;

/** Aggregations of a grouped stream, without windows. */
final class Aggregations {
    private Aggregations() {
    }

    static void count(Plan plan, Params params) {
        plan.writeNumbers(plan.stream("in").groupByKey().count());
    }

    static void reduce(Plan plan, Params params) {
        plan.write(plan.stream("in").groupByKey().reduce(Functions::appended));
    }

    static void reduceDelete(Plan plan, Params params) {
        plan.write(plan.stream("in").groupByKey().reduce((aggregate, value) ->
            Functions.concatOrDelete(null, value, aggregate)));
    }

    static void aggregate(Plan plan, Params params) {
        plan.write(plan.stream("in").groupByKey().aggregate(() -> ">", Functions::concat));
    }

    static void aggregateDelete(Plan plan, Params params) {
        plan.write(plan.stream("in").groupByKey().aggregate(() -> "", Functions::concatOrDelete));
    }

    static void sumOfLengths(Plan plan, Params params) {
        plan.writeNumbers(plan.stream("in").groupByKey().aggregate(
            () -> 0L,
            (key, value, sum) -> sum + value.length(),
            Materialized.with(Serdes.String(), Serdes.Long())));
    }

    static void countWords(Plan plan, Params params) {
        plan.writeNumbers(plan.stream("in").flatMapValues(Functions::words).groupByKey().count());
    }

    static void countOfMerged(Plan plan, Params params) {
        plan.writeNumbers(plan.stream("in").merge(plan.stream("other")).groupByKey().count());
    }

    static void countByHead(Plan plan, Params params) {
        plan.writeNumbers(byHead(plan).count());
    }

    static void reduceByHead(Plan plan, Params params) {
        plan.write(byHead(plan).reduce(Functions::appended));
    }

    static void aggregateByHead(Plan plan, Params params) {
        plan.write(byHead(plan).aggregate(() -> ">", Functions::concat));
    }

    static void twoAggregates(Plan plan, Params params) {
        KGroupedStream<String, String> grouped = plan.stream("in")
            .groupBy((key, value) -> Functions.head(value), Grouped.as("by-head"));
        plan.write(grouped.count().toStream(), "counts", Format.TEXT, Format.NUMBER);
        plan.write(grouped.aggregate(() -> "", Functions::concat).toStream(), "texts");
    }

    static void aggregateAndPass(Plan plan, Params params) {
        KStream<String, String> stream = plan.stream("in");
        plan.write(stream.groupByKey().count().toStream().mapValues(Functions::show).merge(stream));
    }

    private static KGroupedStream<String, String> byHead(Plan plan) {
        return plan.stream("in").groupBy((key, value) -> Functions.head(value));
    }
}
