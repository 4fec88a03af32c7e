package headrace.conformance;

import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;
import org.apache.kafka.streams.KeyValue;

/** The user functions of the catalogue: the same as in {@code conformance/functions.py}. */
final class Functions {
    private Functions() {
    }

    static String show(Object value) {
        return value == null ? "_" : value.toString();
    }

    static boolean isLong(Object key, String value) {
        return value != null && value.length() > 1;
    }

    static boolean isLonger(Object key, String value) {
        return value != null && value.length() > 2;
    }

    static String shout(String value) {
        return show(value) + "!";
    }

    /** The first letter, if there is one. */
    static String head(String value) {
        return value == null || value.isEmpty() ? null : value.substring(0, 1);
    }

    static List<String> letters(String value) {
        List<String> letters = new ArrayList<>();
        for (int index = 0; value != null && index < value.length(); index++) {
            letters.add(value.substring(index, index + 1));
        }
        return letters;
    }

    static List<String> words(String value) {
        return value == null ? List.of() : List.of(value.split(" ", -1));
    }

    static List<String> twice(String value) {
        return List.of(show(value), show(value) + "2");
    }

    /** The part of "group:item" before the colon; null for "null..." or an empty group. */
    static String group(String value) {
        if (value == null) {
            return null;
        }
        String before = value.split(":", 2)[0];
        return before.isEmpty() || before.startsWith("null") ? null : before;
    }

    /** The part of "group:item" after the colon; without a colon the whole value. */
    static String item(String value) {
        return value.substring(value.indexOf(':') + 1);
    }

    static String concat(Object key, String value, String aggregate) {
        return aggregate + show(value);
    }

    /** Concatenates; "del" deletes the aggregate. */
    static String concatOrDelete(Object key, String value, String aggregate) {
        return "del".equals(value) ? null : aggregate + show(value);
    }

    static String appended(String aggregate, String value) {
        return show(aggregate) + show(value);
    }

    static String merged(Object key, String left, String right) {
        return "(" + show(left) + "&" + show(right) + ")";
    }

    static String joined(Object left, Object right) {
        return show(left) + "/" + show(right);
    }

    static String keyed(Object key, Object left, Object right) {
        return show(key) + ":" + joined(left, right);
    }

    static String plus(Object key, String value, String aggregate) {
        return aggregate + "+" + value;
    }

    static String minus(Object key, String value, String aggregate) {
        return aggregate + "-" + value;
    }

    static String plusOne(String aggregate, String value) {
        return aggregate + "+" + value;
    }

    /** Subtracts; null if the aggregate is just the value. */
    static String minusOne(String aggregate, String value) {
        return aggregate.equals(value) ? null : aggregate + "-" + value;
    }

    static String newer(String aggregate, String value) {
        return value;
    }

    static String kept(String aggregate, String value) {
        return aggregate;
    }

    static String with(Object key, String value, String set) {
        TreeSet<String> members = members(set);
        members.add(value);
        return String.join(",", members);
    }

    static String without(Object key, String value, String set) {
        TreeSet<String> members = members(set);
        members.remove(value);
        return String.join(",", members);
    }

    private static TreeSet<String> members(String set) {
        return set.isEmpty() ? new TreeSet<>() : new TreeSet<>(List.of(set.split(",")));
    }

    static KeyValue<String, String> byGroup(String key, String value) {
        return KeyValue.pair(group(value), item(value));
    }

    static KeyValue<String, String> byKey(String key, String value) {
        return KeyValue.pair(key, value);
    }

    /** Everything under one key, which may be that of a row. */
    static KeyValue<String, String> underA(String key, String value) {
        return KeyValue.pair("a", value);
    }

    static KeyValue<String, String> byValue(String key, String value) {
        return KeyValue.pair(value, value);
    }

    /** As {@link #byGroup}, but null for "skip...", and a null value for an empty item. */
    static KeyValue<String, String> byGroupOrNothing(String key, String value) {
        if (value.startsWith("skip")) {
            return null;
        }
        return KeyValue.pair(group(value), item(value).isEmpty() ? null : item(value));
    }
}
