package headrace.conformance;

import java.util.List;
import java.util.Map;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.kstream.Branched;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.Named;

/** Operators without state. */
final class Stateless {
    private Stateless() {
    }

    static void filter(Plan plan, Params params) {
        plan.write(plan.stream("in").filter(Functions::isLong));
    }

    static void filterNot(Plan plan, Params params) {
        plan.write(plan.stream("in").filterNot(Functions::isLong));
    }

    static void map(Plan plan, Params params) {
        plan.write(plan.stream("in").map((key, value) -> KeyValue.pair(value, key)));
    }

    static void mapValues(Plan plan, Params params) {
        plan.write(plan.stream("in").mapValues(Functions::shout));
    }

    static void mapValuesWithKey(Plan plan, Params params) {
        plan.write(plan.stream("in").mapValues((key, value) -> Functions.joined(key, value)));
    }

    static void flatMap(Plan plan, Params params) {
        plan.write(plan.stream("in").flatMap((key, value) ->
            Functions.letters(value).stream().map(letter -> KeyValue.pair(letter, key)).toList()));
    }

    static void flatMapValues(Plan plan, Params params) {
        plan.write(plan.stream("in").flatMapValues(Functions::words));
    }

    static void selectKey(Plan plan, Params params) {
        plan.write(plan.stream("in").selectKey((key, value) -> Functions.head(value)));
    }

    static void peek(Plan plan, Params params) {
        plan.write(plan.stream("in").peek((key, value) -> Functions.shout(value)));
    }

    static void merge(Plan plan, Params params) {
        plan.write(plan.stream("in").merge(plan.stream("other")));
    }

    static void mergeWithItself(Plan plan, Params params) {
        KStream<String, String> stream = plan.stream("in");
        plan.write(stream.merge(stream));
    }

    static void severalTopics(Plan plan, Params params) {
        plan.write(plan.builder.stream(List.of("in", "other"), Consumed.with(Serdes.String(), Serdes.String())));
    }

    static void splitWithDefault(Plan plan, Params params) {
        Map<String, KStream<String, String>> branches = plan.stream("in")
            .split(Named.as("by-"))
            .branch(Functions::isLonger, Branched.as("big"))
            .branch(Functions::isLong, Branched.as("middle"))
            .defaultBranch(Branched.as("rest"));
        plan.write(branches.get("by-big"), "big");
        plan.write(branches.get("by-middle"), "middle");
        plan.write(branches.get("by-rest"), "rest");
    }

    static void splitWithoutDefault(Plan plan, Params params) {
        Map<String, KStream<String, String>> branches = plan.stream("in")
            .split(Named.as("by-"))
            .branch(Functions::isLong, Branched.as("long"))
            .branch((key, value) -> key == null, Branched.as("keyless"))
            .noDefaultBranch();
        plan.write(branches.get("by-long"), "long");
        plan.write(branches.get("by-keyless"), "keyless");
    }

    static void splitAndMerge(Plan plan, Params params) {
        Map<String, KStream<String, String>> branches = plan.stream("in")
            .split(Named.as("by-"))
            .branch(Functions::isLong, Branched.as("long"))
            .defaultBranch(Branched.as("short"));
        plan.write(branches.get("by-short").mapValues(Functions::shout).merge(branches.get("by-long")));
    }

    static void flatMapValuesWithKey(Plan plan, Params params) {
        plan.write(plan.stream("in").flatMapValues((key, value) -> Functions.twice(Functions.joined(key, value))));
    }

    static void splitIntoConsumers(Plan plan, Params params) {
        plan.stream("in")
            .split(Named.as("by-"))
            .branch(Functions::isLonger, Branched.withConsumer(stream -> plan.write(stream.mapValues(Functions::shout), "big")))
            .branch(Functions::isLong, Branched.withConsumer(stream -> plan.write(stream, "middle")))
            .defaultBranch(Branched.withConsumer(stream -> plan.write(stream, "rest")));
    }

    static void splitIntoFunctions(Plan plan, Params params) {
        Map<String, KStream<String, String>> branches = plan.stream("in")
            .split(Named.as("by-"))
            .branch(Functions::isLonger, Branched.withFunction(stream -> stream.mapValues(Functions::shout), "big"))
            .branch(Functions::isLong, Branched.withConsumer(stream -> plan.write(stream, "middle"), "middle"))
            .defaultBranch(Branched.withFunction(stream -> stream.filter((key, value) -> key != null), "rest"));
        plan.write(branches.get("by-big").merge(branches.get("by-rest")));
    }

    static void chain(Plan plan, Params params) {
        plan.write(plan.stream("in")
            .filter((key, value) -> value != null)
            .flatMapValues(Functions::words)
            .filterNot((key, word) -> word.isEmpty())
            .map((key, word) -> KeyValue.pair(Functions.head(word), Functions.show(key) + word))
            .mapValues(Functions::shout));
    }

    static void twoSinks(Plan plan, Params params) {
        KStream<String, String> stream = plan.stream("in");
        plan.write(stream.mapValues(Functions::shout), "loud");
        plan.write(stream.filter(Functions::isLong), "long");
    }

    static void oneTopicTwice(Plan plan, Params params) {
        KStream<String, String> stream = plan.stream("in");
        plan.write(stream.mapValues(Functions::shout));
        plan.write(stream.filter(Functions::isLong));
    }

    static void throughTopic(Plan plan, Params params) {
        plan.write(plan.stream("in").mapValues(Functions::shout), "middle");
        plan.write(plan.stream("middle").flatMapValues(Functions::words));
    }

    static void failingMap(Plan plan, Params params) {
        plan.write(plan.stream("in").flatMapValues(Functions::words).mapValues(Stateless::checked));
    }

    static void failingMapContinue(Plan plan, Params params) {
        failingMap(plan, params);
    }

    private static String checked(String word) {
        if (word.equals("bad")) {
            throw new IllegalArgumentException("bad word");
        }
        return word;
    }
}
