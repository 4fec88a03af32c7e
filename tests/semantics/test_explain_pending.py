"""explain_pending: which results are held back, and which record would release them."""

from __future__ import annotations

from datetime import timedelta

import pytest

import headrace as hr
from headrace import Pending, PendingTask, Suppressed, Window, Windowed, serdes
from headrace.testing import TopologyTestDriver
from tests.support.runtimes import SparkRuntime

MS = timedelta(milliseconds=1)
TUMBLING = hr.TimeWindows.of(10 * MS, grace=2 * MS)
HOPPING = hr.TimeWindows.of(10 * MS, advance=5 * MS, grace=2 * MS)
SLIDING = hr.SlidingWindows.of(10 * MS, grace=3 * MS)
SESSIONS = hr.SessionWindows.of(5 * MS, grace=4 * MS)


def on_close(windows):
    builder = hr.StreamsBuilder()
    windowed = builder.stream("in").group_by_key().windowed_by(windows)
    counts = windowed.emit_strategy(hr.EmitStrategy.on_window_close()).count(store="held", name="counts")
    counts.to_stream().to("out")
    return builder.build()


def suppressed(windows):
    builder = hr.StreamsBuilder()
    counts = builder.stream("in").group_by_key().windowed_by(windows).count(store="counts")
    counts.suppress(Suppressed.until_window_closes(), name="held").to_stream().to("out")
    return builder.build()


def limited():
    builder = hr.StreamsBuilder()
    rows = builder.table("in", value_serde=serdes.String())
    rows.suppress(Suppressed.until_time_limit(20 * MS), name="held").to_stream().to("out")
    return builder.build()


def pending_after(topology, text, *, tracking=False, then=()):
    """What `explain_pending` shows after records like `k@0 j@3`, and the keys of the results after each of `then`."""
    config = hr.StreamsConfig(application_id="t", allow_stream_time_key_tracking=tracking)
    with TopologyTestDriver(topology, config) as driver:
        for key, at in (word.split("@") for word in text.split()):
            driver.input_topic("in").pipe(key, "v", int(at))
        driver.output_topic("out").read_all()
        [pending] = driver.explain_pending()
        driver.restart()
        assert driver.explain_pending() == [pending]
        left = []
        for key, at in then:
            driver.input_topic("in").pipe(key, "v", at)
            left.append([str(record.key) for record in driver.output_topic("out").read_all()])
        return pending, left


CASES = {
    "tumbling": (on_close(TUMBLING), "k@3 j@1 k@11 k@5", 3, "[j@0/10]", 10, 12, 11),
    "hopping": (on_close(HOPPING), "k@11 k@3", 3, "[k@0/10]", 10, 12, 11),
    "sliding": (on_close(SLIDING), "k@20 k@22", 3, "[k@10/20]", 20, 24, 22),
    "session": (on_close(SESSIONS), "k@3 k@0 j@9", 2, "[k@0/3]", 3, 13, 9),
    "suppressed tumbling": (suppressed(TUMBLING), "k@3 j@1 k@11 k@5", 3, "[j@0/10]", 10, 12, 11),
    "suppressed sliding": (suppressed(SLIDING), "k@20 k@22", 3, "[k@10/20]", 20, 23, 22),
    # The merged session is pending too, as a deletion.
    "suppressed session": (suppressed(SESSIONS), "k@3 k@0 j@9", 3, "[k@0/3]", 3, 12, 9),
    "time limit": (limited(), "k@9 j@8 k@10 j@12", 2, "j", 8, 28, 12),
}


@pytest.mark.parametrize("case", CASES)
def test_the_named_record_releases_the_oldest_result_and_an_earlier_one_does_not(case):
    topology, records, waiting, oldest, since_ms, release_ms, time_ms = CASES[case]
    pending, left = pending_after(topology, records, then=[("z", release_ms - 1), ("z", release_ms)])
    [task] = pending.tasks
    assert (str(task.oldest), task) == (
        oldest,
        PendingTask("0_0", waiting, task.oldest, since_ms, release_ms, None, time_ms),
    )
    assert pending.waiting == waiting
    assert left[0] == []
    assert left[1][0] == oldest


@pytest.mark.parametrize("case", CASES)
def test_with_a_clock_for_each_key_only_a_record_of_the_same_key_releases_a_result(case):
    topology, records, *_ = CASES[case]
    pending, _ = pending_after(topology, records, tracking=True)
    [task] = pending.tasks
    key = task.oldest.key if isinstance(task.oldest, Windowed) else task.oldest
    assert task.release_key == key
    far, early, now = ("other", 10_000), (key, task.release_ms - 1), (key, task.release_ms)
    _, left = pending_after(topology, records, tracking=True, then=[far, early, now])
    assert left[:2] == [[], []]
    assert str(task.oldest) in left[2]


def test_the_stream_time_of_each_key_is_shown():
    pending, _ = pending_after(on_close(TUMBLING), "b@7 a@31 b@3", tracking=True)
    b = Windowed("b", Window(0, 10))
    assert pending == Pending("counts", "held", (PendingTask("0_0", 2, b, 10, 12, "b", 7),))
    assert str(pending) == (
        "counts: 2 windows wait; the oldest is [b@0/10]; it closes when a record of key 'b' with timestamp 12 or later "
        "arrives; the stream time of that key is 7."
    )


def test_pending_results_are_printed_as_a_sentence():
    pending, _ = pending_after(on_close(TUMBLING), "k@3 k@11")
    assert str(pending) == (
        "counts: 2 windows wait; the oldest is [k@0/10]; it closes when a record with timestamp 12 or later arrives "
        "(any key); stream time is 11."
    )
    pending, _ = pending_after(limited(), "k@3")
    assert str(pending) == (
        "held: 1 row waits; the oldest is 'k', held back since 3; it leaves when a record with timestamp 23 or later "
        "arrives (any key); stream time is 3."
    )
    pending, _ = pending_after(suppressed(hr.TimeWindows.of(10 * MS)), "")
    assert str(pending) == "held: nothing waits."


def test_every_partition_has_its_own_clock():
    with TopologyTestDriver(on_close(TUMBLING)) as driver:
        for partition, key, at in [(0, "a", 15), (1, "b", 5), (2, "c", 5), (2, "c", 12), (2, "c", 40)]:
            driver.input_topic("in").pipe(key, "v", at, partition=partition)
        [pending] = driver.explain_pending("held")
    assert [
        (task.task_id, task.waiting, str(task.oldest), task.release_ms, task.stream_time_ms) for task in pending.tasks
    ] == [
        ("0_0", 1, "[a@10/20]", 22, 15),
        ("0_1", 1, "[b@0/10]", 12, 5),
        ("0_2", 1, "[c@40/50]", 52, 40),
    ]
    assert str(pending) == (
        "counts: 3 windows wait in 3 of 3 tasks; the oldest is [b@0/10] in task 0_1; it closes when a record with "
        "timestamp 12 or later arrives there (any key); stream time there is 5."
    )


def test_closed_merged_and_deleted_windows_are_no_longer_pending():
    with TopologyTestDriver(on_close(SESSIONS)) as driver:
        waiting = []
        for at in (0, 8, 4, 4, 30, 31):
            driver.input_topic("in").pipe("k", "v", at)
            [pending] = driver.explain_pending()
            waiting.append((pending.waiting, str(pending.oldest.oldest)))
    assert waiting == [
        (1, "[k@0/0]"),
        (2, "[k@0/0]"),
        (1, "[k@0/8]"),
        (1, "[k@0/8]"),
        (1, "[k@30/30]"),
        (1, "[k@30/31]"),
    ]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("counts", "'counts' holds no results back. Results are held back by suppress(...), by windows with "),
        ("hold-store", "'hold-store' is neither a store nor an operator. Did you mean 'held-store'?"),
    ],
)
def test_an_operator_that_holds_nothing_back_is_refused_and_the_error_lists_those_that_do(name, message):
    with TopologyTestDriver(suppressed(TUMBLING)) as driver, pytest.raises(hr.StateError) as refused:
        driver.explain_pending(name)
    assert message in str(refused.value)
    assert str(refused.value).endswith("Stores that hold results back: 'held-store'.")


def test_topology_that_holds_nothing_back_has_nothing_to_explain():
    builder = hr.StreamsBuilder()
    builder.stream("in").to("out")
    with TopologyTestDriver(builder.build()) as driver:
        assert driver.explain_pending() == []
        with pytest.raises(hr.StateError, match=r"'out' is neither .* records wait. This topology has none"):
            driver.explain_pending("out")


@pytest.mark.spark
def test_pending_results_are_those_of_the_last_committed_batch(spark, tmp_path):
    runtime = SparkRuntime(spark, tmp_path, partitions=2)
    topology = suppressed(TUMBLING)
    app = hr.Streams(topology, runtime.config(), spark=spark)
    runtime.topics.create("in", partitions=2)
    placed = [("a", 3, 0), ("a", 11, 0), ("b", 25, 1)]
    runtime.topics.produce("in", [hr.Record(key, "v", at, partition=where) for key, at, where in placed])
    assert str(app.explain_pending()[0]) == "held: nothing waits."
    app.process_available()
    [pending] = app.explain_pending("held-store")
    a, b = Windowed("a", Window(0, 10)), Windowed("b", Window(20, 30))
    assert pending.tasks == (PendingTask("0_0", 2, a, 10, 12, None, 11), PendingTask("0_1", 1, b, 30, 32, None, 25))
    runtime.topics.produce("in", [hr.Record("a", "v", pending.oldest.release_ms, partition=0)])
    app.process_available()
    assert [str(record.key) for record in runtime.outputs(topology)["out"]] == ["[a@0/10]"]
    assert app.explain_pending()[0].waiting == 2


@pytest.mark.parametrize(
    ("topology", "verb"),
    [(on_close(TUMBLING), "close"), (suppressed(TUMBLING), "close"), (limited(), "leave")],
    ids=["on close", "suppressed", "time limit"],
)
def test_a_result_that_waits_beyond_the_highest_timestamp_is_never_released(topology, verb):
    pending, _ = pending_after(topology, f"k@{2**63 - 1}")
    [task] = pending.tasks
    assert (task.waiting, task.since_ms, task.release_ms) == (1, 2**63 - 1, None)
    assert f"; it does not {verb} before the end of time; " in str(pending)
