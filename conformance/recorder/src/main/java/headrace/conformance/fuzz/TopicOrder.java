package headrace.conformance.fuzz;

import com.fasterxml.jackson.databind.JsonNode;
import java.lang.reflect.Field;
import java.util.Comparator;
import java.util.HashMap;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.SortedSet;
import java.util.TreeSet;
import org.apache.kafka.streams.TopologyTestDriver;
import org.apache.kafka.streams.processor.internals.RecordQueue;

/**
 * The order in which Headrace processes internal topics, for Kafka's test driver to follow: by the stage that reads
 * them, then by timestamp, then by rank. {@code conformance/fuzz/order.py} describes it.
 */
final class TopicOrder {
    private static final String PREFIX = "fuzz-";

    private final Map<String, JsonNode> places = new HashMap<>();

    /** {@code order} has stage and rank of each topic, by its name without generated numbers. */
    private TopicOrder(JsonNode order, SortedSet<String> topics) {
        Map<String, Integer> alike = new HashMap<>();
        for (String topic : topics) {
            String name = topic.substring(PREFIX.length()).replaceAll("\\d{10}", "#");
            JsonNode place = order.get(name + "/" + (alike.merge(name, 1, Integer::sum) - 1));
            if (place == null) {
                throw new IllegalArgumentException("The order has no internal topic " + topic + ": " + order);
            }
            places.put(topic, place);
        }
    }

    static void follow(JsonNode order, TopologyTestDriver driver) throws ReflectiveOperationException {
        Object task = field(driver, "task").get(driver);
        if (task == null) {
            return;
        }
        Object group = field(task, "partitionGroup").get(task);
        Map<?, ?> queues = (Map<?, ?>) field(group, "partitionQueues").get(group);
        SortedSet<String> topics = new TreeSet<>();
        queues.values().forEach(queue -> topics.add(((RecordQueue) queue).partition().topic()));
        topics.removeIf(topic -> !topic.startsWith(PREFIX));
        field(group, "nonEmptyQueuesByTime").set(group, new PriorityQueue<>(new TopicOrder(order, topics).comparator()));
    }

    /** A user's topic that is written and read comes after all internal ones, as its records would in another step. */
    private Comparator<RecordQueue> comparator() {
        return Comparator.<RecordQueue>comparingInt(queue -> place(queue, 0))
            .thenComparingLong(RecordQueue::headRecordTimestamp)
            .thenComparingInt(queue -> place(queue, 1));
    }

    private int place(RecordQueue queue, int part) {
        JsonNode place = places.get(queue.partition().topic());
        return place == null ? Integer.MAX_VALUE : place.get(part).intValue();
    }

    private static Field field(Object owner, String name) throws NoSuchFieldException {
        Field field = owner.getClass().getDeclaredField(name);
        field.setAccessible(true);
        return field;
    }
}
