package headrace.conformance.fuzz;

import java.util.ArrayList;
import java.util.List;
import org.apache.kafka.streams.kstream.Windowed;

/** The user functions of random topologies, by name: the same as in {@code conformance/fuzz/functions.py}. */
final class NamedFunctions {
    private static final int LONGEST = 24;

    private NamedFunctions() {
    }

    static String show(Object value) {
        if (value instanceof Windowed<?> windowed) {
            return "[" + windowed.key() + "@" + windowed.window().start() + "/" + windowed.window().end() + "]";
        }
        return value == null ? "_" : value.toString();
    }

    static String clip(String text) {
        return text.length() <= LONGEST ? text : text.substring(0, 10) + "~" + text.substring(text.length() - 13);
    }

    static long size(Object value) {
        return show(value).length();
    }

    private static long number(Object value) {
        return value == null ? 0 : ((Number) value).longValue();
    }

    static String head(Object value) {
        return value == null || value.toString().isEmpty() ? null : value.toString().substring(0, 1);
    }

    private static String last(Object value) {
        String text = value == null ? "" : value.toString();
        return text.isEmpty() ? null : text.substring(text.length() - 1);
    }

    static boolean predicate(String name, Object key, Object value) {
        return switch (name) {
            case "is_long" -> size(value) > 2;
            case "is_even" -> size(value) % 2 == 0;
            case "has_a" -> show(value).contains("a");
            case "key_is_not_b" -> !show(key).contains("b");
            case "is_odd_number" -> show(value).matches("(?s).*[13579]");
            default -> throw new IllegalArgumentException(name);
        };
    }

    static Object map(String name, Object value) {
        return switch (name) {
            case "shout" -> clip(show(value) + "!");
            case "nil_b" -> show(value).contains("b") ? null : show(value);
            case "first" -> head(value);
            case "size" -> size(value);
            case "same" -> value;
            default -> throw new IllegalArgumentException(name);
        };
    }

    static String select(String name, Object key, Object value) {
        return switch (name) {
            case "head" -> head(value);
            case "last" -> last(value);
            case "all" -> "all";
            case "key" -> key == null ? null : show(key);
            case "key_unless_c" -> key == null || show(value).contains("c") ? null : show(key);
            default -> throw new IllegalArgumentException(name);
        };
    }

    static List<String> flatten(String name, Object value) {
        List<String> flat = new ArrayList<>();
        String text = show(value);
        switch (name) {
            case "letters" -> {
                for (int index = 0; index < Math.min(3, text.length()); index++) {
                    flat.add(text.substring(index, index + 1));
                }
            }
            case "twice" -> {
                flat.add(text);
                flat.add(clip(text + "2"));
            }
            case "none_if_even" -> {
                if (text.length() % 2 != 0) {
                    flat.add(text);
                }
            }
            default -> throw new IllegalArgumentException(name);
        }
        return flat;
    }

    static Object join(String name, Object left, Object right) {
        return switch (name) {
            case "pair" -> clip("(" + show(left) + "," + show(right) + ")");
            case "nil_d" -> (show(left) + show(right)).contains("d") ? null : clip(show(left) + "/" + show(right));
            default -> throw new IllegalArgumentException(name);
        };
    }

    static String keyed(Object key, Object left, Object right) {
        return keyed(key, both(left, right));
    }

    /** The result of a keyed joiner, from the key and what {@link #both} returned. */
    static String keyed(Object key, Object both) {
        return clip(show(key) + ":" + both);
    }

    static String both(Object left, Object right) {
        return show(left) + "," + show(right);
    }

    /** A timestamp, negative to drop the record. */
    static long extract(String name, Object value, long timestamp, long partitionTime) {
        return switch (name) {
            case "never_backwards" -> Math.max(timestamp, partitionTime);
            case "later_by_size" -> timestamp + 3 * size(value);
            case "drop_d" -> show(value).contains("d") ? -1 : timestamp;
            default -> throw new IllegalArgumentException(name);
        };
    }

    static Object reduce(String name, Object aggregate, Object value) {
        String both = show(aggregate) + show(value);
        return switch (name) {
            case "append" -> clip(both);
            case "last" -> value;
            case "nil_long" -> both.length() > 6 ? null : both;
            case "sum" -> number(aggregate) + number(value);
            case "max" -> Math.max(number(aggregate), number(value));
            default -> throw new IllegalArgumentException(name);
        };
    }

    static Object unreduce(String name, Object aggregate, Object value) {
        return switch (name) {
            case "append" -> clip(show(aggregate) + "-" + show(value));
            case "last", "max" -> aggregate;
            case "nil_long" -> aggregate.equals(value) ? null : clip(show(aggregate) + "-" + show(value));
            case "sum" -> number(aggregate) - number(value);
            default -> throw new IllegalArgumentException(name);
        };
    }

    static Object initial(String name) {
        return switch (name) {
            case "append" -> "";
            case "nil_b" -> ">";
            case "size" -> 0L;
            default -> throw new IllegalArgumentException(name);
        };
    }

    static Object aggregate(String name, Object value, Object aggregate) {
        return switch (name) {
            case "append" -> clip(show(aggregate) + show(value));
            case "nil_b" -> show(value).contains("b") ? null : clip(show(aggregate) + "+" + show(value));
            case "size" -> number(aggregate) + size(value);
            default -> throw new IllegalArgumentException(name);
        };
    }

    static Object unaggregate(String name, Object value, Object aggregate) {
        return switch (name) {
            case "append" -> clip(show(aggregate) + "-" + show(value));
            case "nil_b" -> show(aggregate).endsWith(show(value)) ? null : clip(show(aggregate) + "-" + show(value));
            case "size" -> number(aggregate) - size(value);
            default -> throw new IllegalArgumentException(name);
        };
    }

    static Object merge(String name, Object left, Object right) {
        return switch (name) {
            case "append" -> clip("(" + show(left) + "&" + show(right) + ")");
            case "nil_b" -> clip(show(left) + "&" + show(right));
            case "size" -> number(left) + number(right);
            default -> throw new IllegalArgumentException(name);
        };
    }
}
