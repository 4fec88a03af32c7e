package headrace.conformance;

/** Builds one topology of the catalogue into a plan. */
@FunctionalInterface
interface Definition {
    void build(Plan plan, Params params);
}
