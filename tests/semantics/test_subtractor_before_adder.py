"""KIP-904. A change of a row within its group is subtracted from the aggregate and added to it in one step.

The rule: old and new value of such a row are one event; the subtractor runs, then the adder, one result is stored and
one is emitted, with the highest timestamp the group has seen. Only a row that moves to another group is two events:
first the old group loses it, then the new group gains it. So no result shows a state that the table never had, and
adder and subtractor need not commute.
"""

from __future__ import annotations

import pytest

import headrace as hr
import headrace.testing
from headrace import Record, StreamsBuilder, serdes


def grouped(selector):
    builder = StreamsBuilder()
    return builder, builder.table("in").group_by(selector)


def written(table, builder):
    table.to_stream().to("out")
    return builder.build()


def concatenation(grouped_table):
    return grouped_table.aggregate(
        str, lambda _, value, text: f"{text}+{value}", lambda _, value, text: f"{text}-{value}"
    )


def split(key, value):
    group, item = value.split(":")
    return group, item


TABLE = [("1", "A:x", 8), ("1", "A:y", 5), ("2", "A:z", 20), ("1", "B:y", 9), ("1", None, 30)]


def test_count_of_an_unchanged_key_never_shows_a_transient_zero(runtime):
    builder, rows = grouped(lambda key, value: (key, value))
    outputs, _ = runtime.run(written(rows.count(), builder), [("in", "1", "", 8), ("in", "1", "", 9)])
    assert outputs["out"] == [Record("1", 1, 8), Record("1", 1, 9)]


def test_a_set_still_has_an_animal_that_replaces_itself(runtime):
    builder, zoos = grouped(lambda zoo, animal: (zoo, animal))
    animals = zoos.aggregate(
        set,
        lambda _, animal, seen: seen | {animal},
        lambda _, animal, seen: seen - {animal},
        value_serde=serdes.Json(set[str]),
    )
    outputs, _ = runtime.run(written(animals, builder), [("in", "zoo1", "tiger", 8), ("in", "zoo1", "tiger", 9)])
    assert outputs["out"] == [Record("zoo1", {"tiger"}, 8), Record("zoo1", {"tiger"}, 9)]


def test_a_row_that_moves_leaves_its_old_group_before_it_joins_the_new_one(runtime):
    builder, rows = grouped(split)
    outputs, _ = runtime.run(written(concatenation(rows), builder), [("in", *row) for row in TABLE])
    assert outputs["out"] == [
        Record("A", "+x", 8),
        Record("A", "+x-x+y", 8),
        Record("A", "+x-x+y+z", 20),
        Record("A", "+x-x+y+z-y", 20),
        Record("B", "+y", 9),
        Record("B", "+y-y", 30),
    ]


@pytest.mark.parametrize("version", ["0.10.0", "1.1", "2.8", "3.4"])
def test_upgrade_from_an_old_version_emits_two_results_as_that_version_did(version):
    builder, rows = grouped(split)
    topology = written(concatenation(rows), builder)
    outputs = _on_driver(topology, TABLE[:2], upgrade_from=version)
    assert outputs == [Record("A", "+x", 8), Record("A", "+x-x", 8), Record("A", "+x-x+y", 8)]


@pytest.mark.parametrize("version", [None, "3.5", "3.9", "4.0"])
def test_upgrade_from_a_later_version_emits_one_result(version):
    builder, rows = grouped(split)
    topology = written(concatenation(rows), builder)
    outputs = _on_driver(topology, TABLE[:2], upgrade_from=version)
    assert outputs == [Record("A", "+x", 8), Record("A", "+x-x+y", 8)]


def test_an_unknown_version_is_refused_and_the_error_lists_the_known_ones():
    with pytest.raises(hr.ConfigError, match=r"upgrade_from is '3\.14'; allowed: None, '0\.10\.0', .*'3\.4', '3\.5'"):
        hr.StreamsConfig(application_id="t", upgrade_from="3.14")


def test_a_row_without_group_or_without_grouped_value_belongs_to_no_group():
    def selector(key, value):
        return {"none": None, "keyless": (None, 1), "valueless": ("g", None)}.get(value, ("g", value))

    builder, rows = grouped(selector)
    topology = written(rows.count(), builder)
    inputs = [("1", "none", 1), ("1", "keyless", 2), ("1", "valueless", 3), ("1", "x", 4), ("1", "none", 5)]
    assert _on_driver(topology, inputs) == [Record("g", 1, 4), Record("g", 0, 5)]


class Plain:
    """A key class without `__eq__`."""

    def __init__(self, text):
        self.text = text


class PlainSerde(serdes.Serde):
    def _to_bytes(self, value):
        return value.text.encode()

    def _from_bytes(self, data):
        return Plain(data.decode())


def test_keys_without_equality_are_the_same_group_if_their_bytes_are_equal():
    builder = StreamsBuilder()
    rows = builder.table("in").group_by(lambda key, value: (Plain(key), value), key_serde=PlainSerde())
    topology = written(concatenation(rows), builder)
    outputs = _on_driver(topology, [("1", "x", 8), ("1", "y", 9)])
    assert [(record.key.text, record.value, record.timestamp_ms) for record in outputs] == [
        ("1", "+x", 8),
        ("1", "+x-x+y", 9),
    ]


def test_reduce_starts_from_nothing_after_the_subtractor_emptied_the_group(runtime):
    builder, rows = grouped(split)
    reduced = rows.reduce(lambda total, value: total + value, lambda total, value: None if total == value else total)
    inputs = [("in", "1", "A:x", 8), ("in", "1", "A:y", 5), ("in", "1", None, 3), ("in", "1", "A:y", 2)]
    outputs, _ = runtime.run(written(reduced, builder), inputs)
    assert outputs["out"] == [Record("A", "x", 8), Record("A", "y", 8), Record("A", None, 8), Record("A", "y", 2)]


def test_an_aggregate_changed_in_place_forwards_its_true_old_value(runtime):
    """Groups of groups: the second aggregation must subtract the old value of the first, not its new one."""

    def add(key, value, seen):
        seen.append(value)
        return seen

    def remove(key, value, seen):
        seen.remove(value)
        return seen

    builder, rows = grouped(split)
    sizes = rows.aggregate(list, add, remove).group_by(lambda group, seen: (str(len(seen)), group)).count()
    inputs = [("in", "1", "A:x", 1), ("in", "2", "A:y", 2), ("in", "1", "B:x", 3)]
    outputs, _ = runtime.run(written(sizes, builder), inputs)
    assert outputs["out"] == [
        Record("1", 1, 1),
        Record("1", 0, 2),
        Record("2", 1, 2),
        Record("2", 0, 3),
        Record("1", 1, 3),
        Record("1", 2, 3),
    ]


def _on_driver(topology, rows, **settings):
    with hr.testing.TopologyTestDriver(topology, hr.StreamsConfig(application_id="t", **settings)) as driver:
        for row in rows:
            driver.input_topic("in").pipe(*row)
        return driver.output_topic("out").read_all()
