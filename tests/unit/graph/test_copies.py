"""Copies of tables that a later stage looks up."""

from __future__ import annotations

from datetime import timedelta

import headrace as hr
from headrace import serdes
from headrace._graph.stages import stages


def copied_serdes(builder):
    """The serdes of all copies of tables, by the name of the table's node."""
    return {
        name.partition("-copy-")[0]: (spec.key_serde, spec.value_serde)
        for stage in stages(builder.build()._graph)
        for name, spec in stage.copies.items()
    }


def test_copies_of_stored_rows_have_the_serdes_of_the_table():
    builder = hr.StreamsBuilder()
    users = builder.table("users", key_serde=serdes.String(), value_serde=serdes.Long())
    moved = users.to_stream().select_key(lambda key, value: str(value), key_serde=serdes.String())
    moved.join(users.filter(lambda key, value: value > 1), lambda left, right: left).to("out")
    assert copied_serdes(builder) == {"KTABLE-SOURCE-0000000002": (serdes.String(), serdes.Long())}


def test_copies_of_suppressed_rows_have_the_serdes_of_the_buffer():
    builder = hr.StreamsBuilder()
    users = builder.table("users", key_serde=serdes.String(), value_serde=serdes.Long())
    held = users.map_values(str, value_serde=serdes.String()).suppress(
        hr.Suppressed.until_time_limit(timedelta(seconds=5), hr.BufferConfig.unbounded())
    )
    moved = held.to_stream().select_key(lambda key, value: value, key_serde=serdes.String())
    moved.join(held, lambda left, right: left).to("out")
    assert copied_serdes(builder) == {"KTABLE-SUPPRESS-0000000004": (serdes.String(), serdes.String())}
