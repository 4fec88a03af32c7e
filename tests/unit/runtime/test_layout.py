"""Which changes of topology and topics allow an application to continue from its state."""

from __future__ import annotations

from datetime import timedelta

import msgspec
import pytest

import headrace as hr
from headrace import StreamsBuilder, serdes
from headrace._graph.configured import configured
from headrace._runtime.spark.planning.layout import layout_of, refuse_incompatible, saved_layout, saved_partitions
from headrace._runtime.spark.planning.plan import make_plan

CONFIG = hr.StreamsConfig(application_id="app", topics_dir="topics", state_dir="state")


class Pass(hr.Processor):
    def process(self, record):
        self.context.forward(record)


def by_key(builder, *topics):
    builder.stream(list(topics)).group_by_key().count(store="counts").to_stream().to("out")


def repartitioned(builder):
    builder.stream("a").group_by(max, name="by").count(store="counts").to_stream().to("out")


def repartitioned_by_number(builder, partitions):
    builder.stream("a").repartition(partitions=partitions, name="by").group_by_key().count(store="counts")


def joined_with_its_own_counts(builder):
    stream = builder.stream("a")
    stream.join(stream.group_by(max, name="by").count(store="counts"), max, name="join").to("out")


def counted_after_two_merges_with_repartitions(builder):
    stream = builder.stream("a")
    for name in ("first", "second"):
        stream = stream.merge(stream.map(lambda key, value: (value, value)).repartition(partitions=4, name=name))
    stream.group_by_key().count(store="counts")


def global_table(builder):
    builder.stream("a").join(builder.global_table("g", store="rows"), max).to("out")


def stateless_processor(builder):
    builder.stream("a").process(Pass, name="pass").to("out")


def counts_under_another_name(builder):
    builder.stream("a").group_by_key().count(store="numbers").to_stream().to("out")


def counts_with_another_serde(builder):
    builder.stream("a").group_by_key().aggregate(int, max, store="counts", value_serde=serdes.Json())


def windowed_counts(builder, seconds=1, grace=0):
    windows = hr.TimeWindows.of(timedelta(seconds=seconds), grace=timedelta(seconds=grace))
    builder.stream("a").group_by_key().windowed_by(windows).count(store="counts").to_stream().to("out")


def counts_of_counts(builder):
    counts = builder.stream("a").group_by_key().count(store="counts").to_stream()
    counts.group_by(max, name="by").count(store="more").to_stream().to("out")


def no_counts(builder):
    builder.stream("a").to("out")


def saved(layout):
    """A layout as a later start reads it from the state log."""
    return saved_layout(msgspec.json.decode(msgspec.json.encode(msgspec.to_builtins(layout))))


def refusal(before, now, topics_before, topics_now):
    """The error when one topology continues from the state of another; empty if there is none."""
    layouts = [()]
    for build, topics in ((before, topics_before), (now, topics_now)):
        builder = StreamsBuilder()
        build(builder)
        graph, partitions = configured(builder.build()._graph, CONFIG), saved_partitions(layouts[-1])
        plan = make_plan(graph, CONFIG, topics, instance="i", epoch=1, partitions_before=partitions)
        layouts.append(saved(layout_of(plan, CONFIG)))
    try:
        refuse_incompatible(*layouts[1:], CONFIG)
    except hr.StateError as error:
        return str(error)
    return ""


MOVED = "Keys would move to tasks that do not have their rows in store "


@pytest.mark.parametrize(
    ("build", "before", "now", "said"),
    [
        (lambda b: by_key(b, "a"), {"a": 2}, {"a": 3}, f"topic 'a' has 3 partitions; it had 2. {MOVED}'counts'."),
        (
            lambda b: by_key(b, "a", "b"),
            {"a": 4, "b": 2},
            {"a": 4, "b": 4},
            f"topic 'b' has 4 partitions; it had 2. {MOVED}'counts'.",
        ),
        (joined_with_its_own_counts, {"a": 2}, {"a": 3}, f"topic 'a' has 3 partitions; it had 2. {MOVED}'counts'."),
        (
            counted_after_two_merges_with_repartitions,
            {"a": 2},
            {"a": 3},
            f"topic 'a' has 3 partitions; it had 2. {MOVED}'counts'.",
        ),
        (global_table, {"a": 2, "g": 1}, {"a": 3, "g": 1}, f"topic 'a' has 3 partitions; it had 2. {MOVED}'rows'."),
    ],
)
def test_more_partitions_are_refused_if_keys_would_move_away_from_their_rows(build, before, now, said):
    message = refusal(build, build, before, now)
    assert message.startswith("Application 'app' cannot continue from its state in 'state': topic ")
    assert said in message


@pytest.mark.parametrize(
    ("build", "before", "now"),
    [
        (repartitioned, {"a": 2}, {"a": 5}),
        (lambda b: repartitioned_by_number(b, 3), {"a": 2}, {"a": 5}),
        (global_table, {"a": 2, "g": 1}, {"a": 2, "g": 4}),
        (stateless_processor, {"a": 2}, {"a": 5}),
    ],
)
def test_more_partitions_are_accepted_if_every_key_stays_with_its_rows(build, before, now):
    assert refusal(build, build, before, now) == ""


def test_changed_partitions_of_a_repartition_are_refused_with_its_name():
    first, second = (lambda b, n=n: repartitioned_by_number(b, n) for n in (3, 4))
    said = f"topic 'by-repartition' has 4 partitions; it had 3. {MOVED}'counts'."
    assert said in refusal(first, second, {"a": 2}, {"a": 2})


SERDES = "('String()', 'Json()'); it had ('String()', 'Long()')"


@pytest.mark.parametrize(
    ("now", "changes"),
    [
        (counts_under_another_name, ["store 'counts' was removed"]),
        (counts_with_another_serde, [f"store 'counts' has the serdes {SERDES}"]),
        (
            windowed_counts,
            ["store 'counts' is a TimestampedWindow store of windows of 1000 ms; it was a TimestampedKeyValue store"],
        ),
        (
            counts_of_counts,
            ["store 'more' was added", "repartition 'by-repartition' was added", "it has 2 stages; it had 1"],
        ),
        (no_counts, ["store 'counts' was removed", "it has 0 stages; it had 1"]),
    ],
)
def test_topology_that_does_not_fit_the_state_is_refused_with_every_change(now, changes):
    listed = "\n  - ".join(changes)
    assert refusal(lambda b: by_key(b, "a"), now, {"a": 2}, {"a": 2}) == (
        "The topology of application 'app' changed since its last start, and no longer fits its state in 'state':\n"
        f"  - {listed}\nRun the old topology, or start over: use another application_id and state_dir, or run "
        "`headrace reset`. Name stores with store= so that their names stay the same when other operators are added or "
        "removed."
    )


def test_windows_of_another_size_are_refused_but_another_grace_is_not():
    said = (
        "store 'counts' is a TimestampedWindow store of windows of 2000 ms; it was a TimestampedWindow store of windows"
    )
    assert said in refusal(windowed_counts, lambda b: windowed_counts(b, seconds=2), {"a": 2}, {"a": 2})
    assert refusal(windowed_counts, lambda b: windowed_counts(b, grace=5), {"a": 2}, {"a": 2}) == ""


def test_stateless_operators_may_be_added_and_removed():
    def filtered(builder):
        builder.stream("a").filter(max).group_by_key().count(store="counts").to_stream().map_values(str).to("other")

    assert refusal(lambda b: by_key(b, "a"), filtered, {"a": 2}, {"a": 2}) == ""
