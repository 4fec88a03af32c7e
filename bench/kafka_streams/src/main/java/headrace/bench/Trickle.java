package headrace.bench;

import java.util.Properties;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.KTable;
import org.apache.kafka.streams.kstream.Produced;

/** One to three sub-topologies, exactly once, else with default settings: shape, servers, input, output, application id, state directory. */
public final class Trickle {
    private static final Serde<String> TEXT = Serdes.String();

    private Trickle() {}

    public static void main(final String[] args) {
        final StreamsBuilder builder = new StreamsBuilder();
        counts(args[0], builder.stream(args[2], Consumed.with(TEXT, TEXT)))
            .toStream()
            .to(args[3], Produced.with(TEXT, Serdes.Long()));

        final Properties settings = new Properties();
        settings.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, args[1]);
        settings.put(StreamsConfig.APPLICATION_ID_CONFIG, args[4]);
        settings.put(StreamsConfig.STATE_DIR_CONFIG, args[5]);
        settings.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.EXACTLY_ONCE_V2);
        final KafkaStreams streams = new KafkaStreams(builder.build(), settings);
        streams.setUncaughtExceptionHandler(error -> {
            error.printStackTrace();
            System.exit(1);
            return null;
        });
        streams.start();
    }

    private static KTable<String, Long> counts(final String shape, final KStream<String, String> stream) {
        if (shape.equals("one")) {
            return stream.groupByKey(Grouped.with(TEXT, TEXT)).count();
        }
        final KTable<String, Long> words = stream.groupBy((key, word) -> word, Grouped.with(TEXT, TEXT)).count();
        if (shape.equals("two")) {
            return words;
        }
        return words
            .groupBy(
                (word, count) -> KeyValue.pair(word.replace("word", "group"), count),
                Grouped.with(TEXT, Serdes.Long()))
            .count();
    }
}
