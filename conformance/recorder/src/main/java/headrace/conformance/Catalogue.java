package headrace.conformance;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/** All topologies by id. Each is a static method of a family class; its id is the method's name with hyphens. */
final class Catalogue {
    private static final List<Class<?>> FAMILIES = List.of(
        Stateless.class,
        Aggregations.class,
        Repartitions.class,
        Routing.class,
        Timestamps.class,
        Patterns.class,
        Tables.class,
        Transformations.class,
        VersionedResults.class,
        TableAggregations.class,
        Windows.class,
        OwnWindows.class,
        Suppressions.class,
        StreamJoins.class,
        StreamTableJoins.class,
        KeyedJoins.class,
        TableJoins.class,
        TableSelfJoins.class,
        Cogroups.class,
        Processors.class,
        Punctuations.class,
        StoreReads.class,
        TopicStores.class,
        Pipelines.class);

    private final Map<String, Definition> definitions = new TreeMap<>();

    Catalogue() {
        for (Class<?> family : FAMILIES) {
            for (Method method : family.getDeclaredMethods()) {
                if (isDefinition(method)) {
                    definitions.put(id(method.getName()), (plan, params) -> invoke(method, plan, params));
                }
            }
        }
    }

    Definition get(String id) {
        Definition definition = definitions.get(id);
        if (definition == null) {
            throw new IllegalArgumentException("No topology '" + id + "'; known: " + definitions.keySet());
        }
        return definition;
    }

    private static boolean isDefinition(Method method) {
        return Modifier.isStatic(method.getModifiers())
            && !Modifier.isPrivate(method.getModifiers())
            && List.of(method.getParameterTypes()).equals(List.of(Plan.class, Params.class));
    }

    private static String id(String name) {
        return name.replaceAll("([A-Z])", "-$1").toLowerCase(Locale.ROOT);
    }

    private static void invoke(Method method, Plan plan, Params params) {
        try {
            method.invoke(null, plan, params);
        } catch (IllegalAccessException | InvocationTargetException error) {
            throw new IllegalStateException("Topology " + method.getName() + " could not be built.", error);
        }
    }
}
