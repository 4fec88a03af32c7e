package headrace.conformance;

import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.Repartitioned;

/** Topologies of several stages. */
final class Repartitions {
    private Repartitions() {
    }

    static void repartition(Plan plan, Params params) {
        plan.write(plan.stream("in").repartition(Repartitioned.as("again")));
    }

    static void selectKeyAndCount(Plan plan, Params params) {
        plan.writeNumbers(plan.stream("in").selectKey((key, value) -> Functions.head(value)).groupByKey().count());
    }

    static void countAfterRepartition(Plan plan, Params params) {
        plan.writeNumbers(plan.stream("in")
            .selectKey((key, value) -> Functions.head(value))
            .repartition(Repartitioned.as("again"))
            .groupByKey()
            .count());
    }

    static void countLetters(Plan plan, Params params) {
        plan.writeNumbers(plan.stream("in")
            .flatMap((key, value) ->
                Functions.letters(value).stream().map(letter -> KeyValue.pair(letter, value)).toList())
            .groupByKey()
            .count());
    }

    static void twoRepartitions(Plan plan, Params params) {
        plan.write(countedByHead(plan).groupByKey().aggregate(() -> ">", Functions::concat));
    }

    static void threeRepartitions(Plan plan, Params params) {
        plan.write(countedByHead(plan)
            .groupByKey()
            .aggregate(() -> ">", Functions::concat)
            .toStream()
            .map((key, value) -> KeyValue.pair(String.valueOf(value.length() % 3), key + value))
            .groupByKey()
            .reduce(Functions::appended));
    }

    /** Two stages write to one; of their waiting records the one with the smallest timestamp is processed first. */
    static void mergeOrder(Plan plan, Params params) {
        KStream<String, String> stream = plan.stream("in");
        KStream<String, String> counts = stream.groupByKey()
            .count()
            .toStream()
            .mapValues(count -> "#" + count)
            .repartition(Repartitioned.as("counts"));
        KStream<String, String> others = stream
            .filter((key, value) -> !value.equals("first"))
            .repartition(Repartitioned.as("others"));
        plan.write(counts.merge(others));
    }

    private static KStream<String, String> countedByHead(Plan plan) {
        return plan.stream("in")
            .groupBy((key, value) -> Functions.head(value))
            .count()
            .toStream()
            .map((letter, count) -> KeyValue.pair("n" + count, letter));
    }
}
