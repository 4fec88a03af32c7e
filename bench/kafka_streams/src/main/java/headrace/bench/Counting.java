package headrace.bench;

import java.util.Arrays;
import java.util.Properties;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.KTable;
import org.apache.kafka.streams.kstream.Produced;

/** Counts records by key, or the words of lines: workload, servers, input, output, application id, state directory, cache bytes. */
public final class Counting {
    private Counting() {}

    public static void main(final String[] args) {
        final StreamsBuilder builder = new StreamsBuilder();
        final KTable<String, Long> counts = args[0].equals("count") ? byKey(builder, args[2]) : words(builder, args[2]);
        counts.toStream().to(args[3], Produced.with(Serdes.String(), Serdes.Long()));

        final Properties settings = new Properties();
        settings.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, args[1]);
        settings.put(StreamsConfig.APPLICATION_ID_CONFIG, args[4]);
        settings.put(StreamsConfig.STATE_DIR_CONFIG, args[5]);
        settings.put(StreamsConfig.STATESTORE_CACHE_MAX_BYTES_CONFIG, args[6]);
        settings.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.EXACTLY_ONCE_V2);
        settings.put(StreamsConfig.NUM_STREAM_THREADS_CONFIG, 2);
        settings.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, 1000);
        final KafkaStreams streams = new KafkaStreams(builder.build(), settings);
        streams.setUncaughtExceptionHandler(error -> {
            error.printStackTrace();
            System.exit(1);
            return null;
        });
        streams.start();
    }

    private static KTable<String, Long> byKey(final StreamsBuilder builder, final String input) {
        final Serde<byte[]> bytes = Serdes.ByteArray();
        return builder.stream(input, Consumed.with(Serdes.String(), bytes))
            .groupByKey(Grouped.with(Serdes.String(), bytes))
            .count();
    }

    private static KTable<String, Long> words(final StreamsBuilder builder, final String input) {
        final Serde<String> text = Serdes.String();
        return builder.stream(input, Consumed.with(text, text))
            .flatMapValues(line -> Arrays.asList(line.split(" ")))
            .groupBy((key, word) -> word, Grouped.with(text, text))
            .count();
    }
}
