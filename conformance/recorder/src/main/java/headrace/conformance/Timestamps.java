package headrace.conformance;

import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.processor.TimestampExtractor;

/** Sources with a timestamp extractor. */
final class Timestamps {
    private Timestamps() {
    }

    /** The value is the timestamp; a negative one drops the record. */
    static void extractorOfValue(Plan plan, Params params) {
        plan.write(stream(plan, (record, partitionTime) -> Long.parseLong((String) record.value())));
    }

    /** The record's timestamp or the partition time, whichever is later, so that time never runs backwards. */
    static void extractorOfPartitionTime(Plan plan, Params params) {
        plan.write(stream(plan, (record, partitionTime) -> Math.max(record.timestamp(), partitionTime)));
    }

    /** Negative values get the partition time; at first that is -1, which drops the record. */
    static void extractorFallingBack(Plan plan, Params params) {
        plan.write(stream(plan, (record, partitionTime) -> {
            long own = Long.parseLong((String) record.value());
            return own >= 0 ? own : partitionTime;
        }));
    }

    static void extractorAndCount(Plan plan, Params params) {
        plan.writeNumbers(stream(plan, (record, partitionTime) -> Long.parseLong((String) record.value()))
            .groupByKey()
            .count());
    }

    private static KStream<String, String> stream(Plan plan, TimestampExtractor extractor) {
        return plan.builder.stream("in", Consumed.with(Plan.TEXT, Plan.TEXT).withTimestampExtractor(extractor));
    }
}
