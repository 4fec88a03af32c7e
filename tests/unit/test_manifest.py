"""A checkpoint goes on when input topics get partitions, unless keys would come to other tasks than their rows."""

from __future__ import annotations

import pytest

import headrace as hr
from headrace import StreamsBuilder
from headrace._graph.configured import configured
from headrace._runtime.spark import manifest as manifests
from headrace._runtime.spark.plan import make_plan

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


def global_table(builder):
    builder.stream("a").join(builder.global_table("g", store="rows"), max).to("out")


def stateless_processor(builder):
    builder.stream("a").process(Pass, name="pass").to("out")


def refused(before, now, topics_before, topics_now):
    """What is said when the one topology goes on where the other stopped; empty if nothing is."""
    saved = manifests.new(CONFIG, 2)
    for build, topics in ((before, topics_before), (now, topics_now)):
        builder = StreamsBuilder()
        build(builder)
        plan = make_plan(
            configured(builder.build()._graph, CONFIG),
            CONFIG,
            topics,
            spark_partitions=2,
            instance="i",
            epoch=1,
            partitions_before=saved.partitions,
        )
        layout = manifests.layout(plan, CONFIG)
        if saved.epoch:
            try:
                manifests.refuse_incompatible(saved, layout, CONFIG)
            except hr.StateError as error:
                return str(error)
        saved = manifests.next_start(saved, layout, {})
    return ""


KEPT = "Keys would come to tasks that do not have their rows, in store "


@pytest.mark.parametrize(
    ("build", "before", "now", "said"),
    [
        (lambda b: by_key(b, "a"), {"a": 2}, {"a": 3}, f"topic 'a' has 3 partitions, it had 2. {KEPT}'counts'."),
        (
            lambda b: by_key(b, "a", "b"),
            {"a": 4, "b": 2},
            {"a": 4, "b": 4},
            f"topic 'b' has 4 partitions, it had 2. {KEPT}'counts'.",
        ),
        (joined_with_its_own_counts, {"a": 2}, {"a": 3}, f"topic 'a' has 3 partitions, it had 2. {KEPT}'counts'."),
        (global_table, {"a": 2, "g": 1}, {"a": 3, "g": 1}, f"topic 'a' has 3 partitions, it had 2. {KEPT}'rows'."),
    ],
)
def test_more_partitions_are_refused_where_keys_would_leave_their_rows(build, before, now, said):
    message = refused(build, build, before, now)
    assert message.startswith("Application 'app' cannot go on from its state in 'state': topic ")
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
def test_more_partitions_are_taken_where_every_key_stays_with_its_rows(build, before, now):
    assert refused(build, build, before, now) == ""


def test_another_number_of_a_repartition_is_refused_by_its_name():
    first, second = (lambda b, n=n: repartitioned_by_number(b, n) for n in (3, 4))
    said = f"topic 'by-repartition' has 4 partitions, it had 3. {KEPT}'counts'."
    assert said in refused(first, second, {"a": 2}, {"a": 2})
