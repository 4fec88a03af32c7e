"""The topic log equals a dict of lists, whatever is committed, torn, repeated, reopened or sliced."""

import os
import tempfile
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path
from unittest import mock

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.errors import TopicError
from headrace.topics import batches as _batches
from headrace.topics.embedded import writer as _writer
from headrace.topics.embedded.log import ORDER_SCHEMA, TopicLog
from tests.support.dose import examples

TOPICS = {"a": 1, "b": 2}
PLACES = [("a", 0), ("b", 0), ("b", 1)]

order = st.tuples(st.integers(-2, 2), st.integers(0, 1), st.integers(0, 2), st.integers(0, 1), st.integers(0, 1))
rows = st.lists(order, min_size=1, max_size=12).map(sorted)
writers = st.lists(st.dictionaries(st.sampled_from(PLACES), rows), max_size=4)
operations = st.lists(
    st.one_of(
        st.tuples(st.just("commit"), writers),
        st.tuples(st.just("repeat"), writers),
        st.tuples(st.just("tear"), st.binary(min_size=1, max_size=60).filter(lambda tail: b"{" not in tail)),
        st.tuples(st.just("reopen"), st.none()),
    ),
    max_size=8,
)


@contextmanager
def directory():
    with ExitStack() as stack:
        # Small bounds, so that a few rows already fill several blobs; no syncs.
        for module in (_batches, _writer):
            stack.enter_context(mock.patch.object(module, "MAX_ROWS", 4))
        stack.enter_context(mock.patch.object(os, "fsync", return_value=None))
        yield Path(stack.enter_context(tempfile.TemporaryDirectory()))


def write(log, runs, numbers, ordered):
    """Writes runs of new numbers in two batches each; returns the runs and [(topic-partition, order, number)]."""
    writer, written = log.writer(), []
    for place, orders in runs.items():
        mine = [next(numbers) for _ in orders]
        written += zip([place] * len(orders), orders, mine, strict=True)
        for part in (slice(0, len(orders) // 2), slice(len(orders) // 2, None)):
            columns = {"key": pa.nulls(len(mine[part]), pa.binary())}
            columns["value"] = pa.array([str(number).encode() for number in mine[part]], pa.binary())
            columns["timestamp"] = pa.array(mine[part], pa.int64())
            if ordered:
                by_column = zip(*orders[part], strict=True) if orders[part] else [[]] * len(ORDER_SCHEMA)
                for field, column in zip(ORDER_SCHEMA, by_column, strict=True):
                    columns[field.name] = pa.array(column, field.type)
            writer.write(*place, pa.record_batch(columns))
    return writer.finish(), written


def commit(log, writers, numbers, model, batch):
    runs, written = [], []
    for mine in writers:
        finished, added = write(log, mine, numbers, ordered=len(writers) > 1)
        runs += finished
        written += added
    assert log.commit(runs, producer="p", batch=batch)
    for place in PLACES:
        model[place] += [n for _, _, n in sorted((row for row in written if row[0] == place), key=lambda row: row[1])]


def read(log, place, start, end):
    return [int(value) for batch in log.read(*place, start, end) for value in batch.column("value").to_pylist()]


def everything(log):
    log.refresh()
    return {place: read(log, place, 0, log.end_offsets(place[0])[place[1]]) for place in PLACES}


@settings(max_examples=examples(60), deadline=None)
@given(operations=operations, data=st.data())
def test_the_log_equals_a_model_of_lists(operations, data):
    model = {place: [] for place in PLACES}
    numbers, batches = count(), count()
    with directory() as path:
        log, reader = TopicLog(path), TopicLog(path)
        log.commit([], create=TOPICS)
        last = -1
        for kind, argument in operations:
            if kind == "commit":
                last = next(batches)
                commit(log, argument, numbers, model, last)
            elif kind == "repeat" and last >= 0:
                runs = [run for mine in argument for run in write(log, mine, numbers, ordered=True)[0]]
                assert not log.commit(runs, producer="p", batch=last)
            elif kind == "tear":
                with (path / "commits.log").open("ab") as file:
                    file.write(argument)
            elif kind == "reopen":
                log = TopicLog(path)
        assert everything(reader) == everything(TopicLog(path)) == model
        for place, expected in model.items():
            start = data.draw(st.integers(0, len(expected)))
            end = data.draw(st.integers(start, len(expected)))
            assert read(reader, place, start, end) == expected[start:end]
            assert reader.timestamps(*place, start, end).tolist() == expected[start:end]
        reader.upkeep.sweep(older_than_s=-1)
        assert everything(reader) == model


@settings(max_examples=examples(40), deadline=None)
@given(commits=st.lists(writers, min_size=1, max_size=4), data=st.data())
def test_a_log_cut_anywhere_holds_a_prefix_of_the_commits(commits, data):
    model = {place: [] for place in PLACES}
    with directory() as path:
        log, numbers = TopicLog(path), count()
        log.commit([], create=TOPICS)
        states = [(log.catalog.position.offset, everything(log))]
        for batch, writers in enumerate(commits):
            commit(log, writers, numbers, model, batch)
            states.append((log.catalog.position.offset, everything(log)))
        cut = data.draw(st.integers(states[0][0], states[-1][0]))
        os.truncate(path / "commits.log", cut)
        expected = [state for end, state in states if end <= cut][-1]
        assert everything(TopicLog(path)) == expected
        TopicLog(path).create("c", 1)
        assert everything(TopicLog(path)) == expected


@settings(max_examples=examples(60), deadline=None)
@given(commits=st.lists(writers, min_size=1, max_size=4), bit=st.integers(0, 7), data=st.data())
def test_a_flipped_bit_raises_an_error_or_loses_only_the_last_commit(commits, bit, data):
    model = {place: [] for place in PLACES}
    with directory() as path:
        log, numbers = TopicLog(path), count()
        log.commit([], create=TOPICS)
        for batch, writers in enumerate(commits):
            before, last = everything(log), log.catalog.position.offset
            commit(log, writers, numbers, model, batch)
        content = bytearray((path / "commits.log").read_bytes())
        at = data.draw(st.integers(0, len(content) - 1))
        content[at] ^= 1 << bit
        (path / "commits.log").write_bytes(content)
        if at < last:
            with pytest.raises(TopicError, match="is damaged at byte"):
                TopicLog(path).refresh()
        else:
            assert everything(TopicLog(path)) == before


@settings(max_examples=examples(40), deadline=None)
@given(writers=writers.filter(any), bit=st.integers(0, 7), data=st.data())
def test_a_flipped_bit_of_data_raises_an_error(writers, bit, data):
    model = {place: [] for place in PLACES}
    with directory() as path:
        log = TopicLog(path)
        log.commit([], create=TOPICS)
        commit(log, writers, count(), model, 0)
        file = path / "segments" / data.draw(st.sampled_from(sorted(log.catalog.files)))
        content = bytearray(file.read_bytes())
        content[data.draw(st.integers(0, len(content) - 1))] ^= 1 << bit
        file.write_bytes(content)
        with pytest.raises(TopicError, match=f"{file.name}.*wrong checksum"):
            everything(TopicLog(path))
