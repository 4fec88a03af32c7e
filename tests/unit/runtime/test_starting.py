"""Starts of an application: which state directories and topics they accept; only the newest start may write."""

from __future__ import annotations

import os
import shutil
import threading
from pathlib import Path

import pytest

import headrace as hr
from headrace._graph.configured import configured
from headrace._runtime.spark.starting import committed_view, log_of, start
from headrace._runtime.spark.state_directory.log import current_view
from headrace._runtime.spark.topics import backend
from headrace._runtime.spark.topics.backend import backend_of
from headrace._state.log.entries import ApplicationState, BatchPlan, Commit, Start
from headrace._state.log.state_log import StateLog, TakenOverError
from headrace.topics.embedded.log import TopicLog

CONFIG = hr.StreamsConfig(
    application_id="app", topics_dir="topics", state_dir="state", local_dir="local", sync_state=False
)
STATE = CONFIG.state_dir


@pytest.fixture(autouse=True)
def in_new_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    hr.LocalTopics("topics").create("words", partitions=2)


def topology(store="counts"):
    builder = hr.StreamsBuilder()
    builder.stream("words").group_by_key().count(store=store).to_stream().to("totals")
    return builder.build()


def begin(config=CONFIG, store="counts", parallelism=lambda tasks, before: (2, True)):
    return start(configured(topology(store)._graph, config), config, "a run", parallelism)


def commit(plan, batch, *, publish=True, end=0):
    """Commits a batch without output that has read `words-0` up to `end`, and publishes it in the topic log."""
    view = log_of(CONFIG).view()
    view = log_of(CONFIG).commit(view, Commit(batch, 1000 + batch, {"words-0": end}, output=[]))
    if publish:
        backend_of(plan).publish(plan, view.state)
    return view


def test_first_start_logs_the_layout_and_the_next_start_continues():
    first = begin()
    assert (first.epoch, first.run, first.spark_partitions, first.fuses) == (1, "a run", 2, True)
    view = committed_view(CONFIG)
    assert (view.number, view.epoch, view.state) == (1, 1, ApplicationState())
    assert (view.start.application_id, view.start.instance, view.start.first_batch) == ("app", first.instance, 0)
    assert [(stage["tasks"], stage["partitions"]) for stage in view.start.layout] == [(2, {"words": 2})]

    commit(first, 0)
    second = begin()
    view = committed_view(CONFIG)
    assert (second.epoch, second.instance) == (2, first.instance)
    assert (view.number, view.start.first_batch, view.state.batch, view.state.offsets) == (3, 1, 0, {"words-0": 0})


def test_directory_without_a_start_has_no_state():
    assert committed_view(CONFIG) is None
    for name in ("log", "state"):  # a start that was killed before its entry
        (STATE / name).mkdir(parents=True)
    (STATE / "running.lock").touch()
    assert committed_view(CONFIG) is None
    assert begin().epoch == 1


def test_directory_of_another_application_is_refused():
    begin()
    other = hr.StreamsConfig(application_id="other", topics_dir="topics", state_dir="state")
    with pytest.raises(hr.StateError) as refused:
        begin(other)
    assert str(refused.value) == (
        "state_dir 'state' belongs to application 'app', not to 'other'. Set state_dir to another directory: each "
        "application needs its own."
    )
    assert committed_view(CONFIG).number == 1


def test_directory_with_other_contents_is_refused_and_left_alone():
    STATE.mkdir()
    (STATE / "thesis.tex").write_text("precious")
    with pytest.raises(hr.StateError) as refused:
        begin()
    assert str(refused.value) == (
        "state_dir 'state' is not empty and has no state log: it is not the state directory of application 'app'. Set "
        "state_dir to an empty or new directory."
    )
    assert [path.name for path in STATE.iterdir()] == ["thesis.tex"]


def test_state_without_its_log_is_refused_instead_of_starting_over():
    begin()
    (STATE / "state" / "1-0-fused-00").write_bytes(b"rows")
    (STATE / "log").rename("elsewhere")
    with pytest.raises(hr.StateError, match="'state' is not empty and has no state log"):
        begin()


def test_file_instead_of_a_directory_is_refused():
    STATE.write_text("")
    with pytest.raises(hr.StateError) as refused:
        begin()
    assert str(refused.value) == "state_dir 'state' is a file. Set state_dir to a directory, which need not exist yet."


def test_topology_that_does_not_fit_the_state_is_refused_and_the_earlier_start_may_continue():
    plan = begin()
    with pytest.raises(
        hr.StateError, match=r"changed since its last start, .* in 'state':\n  - store 'counts' was removed"
    ):
        begin(store="numbers")
    assert current_view(plan).number == 1


def test_damaged_entry_is_named():
    commit(begin(), 0)
    entry = STATE / "log" / f"{2:012d}"
    whole = entry.read_bytes()
    entry.write_bytes(whole.replace(b'"batch":0', b'"batch":1'))
    with pytest.raises(hr.StateError) as refused:
        begin()
    assert str(refused.value) == (
        f"Application 'app' on {str(STATE.absolute())!r}: entry 2 of the state log is damaged: its checksum is wrong. "
        "Restore the state directory from a copy, or start over with `headrace reset`."
    )
    entry.write_bytes(whole)
    assert begin().epoch == 2


def test_entry_of_another_format_is_refused():
    begin()
    entry = STATE / "log" / f"{1:012d}"
    entry.write_bytes(entry.read_bytes().replace(b"headrace-state 1 ", b"headrace-state 7 "))
    with pytest.raises(hr.StateError) as refused:
        begin()
    assert str(refused.value) == (
        f"Application 'app' on {str(STATE.absolute())!r}: entry 1 of the state log was written by a newer "
        "version of Headrace (format 7); this version reads format 1: upgrade Headrace."
    )


def test_of_two_starts_from_the_same_entry_one_is_refused():
    begin()
    logs = [log_of(CONFIG), log_of(CONFIG)]
    before = [log.view() for log in logs]
    assert before[0] == before[1]
    entry = Start("app", before[0].start.instance, 0, 5)
    won = logs[0].start(before[0], entry)
    with pytest.raises(TakenOverError):
        logs[1].start(before[1], entry)
    assert log_of(CONFIG).view() == won


def test_start_that_comes_second_takes_over_from_the_one_that_came_first():
    others = []

    def meanwhile(tasks, before):
        if not others:
            others.append(begin())
        return 2, True

    plan = begin(parallelism=meanwhile)
    assert (others[0].epoch, plan.epoch, plan.instance) == (1, 2, others[0].instance)
    assert current_view(plan).number == 2
    with pytest.raises(TakenOverError, match=r"was started again \(start 2; this is start 1\): the newer start"):
        current_view(others[0])


def test_starts_of_many_threads_have_different_epochs():
    epochs = []
    threads = [threading.Thread(target=lambda: epochs.append(begin().epoch)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(epochs) == list(range(1, 9))


def test_start_gives_up_if_others_always_come_first(monkeypatch):
    def overtaken(self, before, entry, forget_offsets):
        raise TakenOverError

    monkeypatch.setattr(StateLog, "start", overtaken)
    with pytest.raises(hr.StateError, match=r"^Application 'app' did not start: other starts took over 100 times"):
        begin()


def test_older_start_can_no_longer_write():
    older = begin()
    view = current_view(older)
    begin()
    log = log_of(CONFIG)
    for write in (lambda: log.plan(view, BatchPlan(0, {})), lambda: log.commit(view, Commit(0, 5, {}))):
        with pytest.raises(TakenOverError, match=r"start 2; this is start 1\).*this one ends without writing"):
            write()
    with pytest.raises(TakenOverError, match="start 2; this is start 1"):
        current_view(older)


def test_batch_that_another_attempt_has_committed_is_not_processed_again():
    plan = begin()
    assert current_view(plan, -1).state.batch == -1
    commit(plan, 0)
    with pytest.raises(TakenOverError, match="another attempt has committed this batch"):
        current_view(plan, -1)


def test_output_that_was_committed_but_not_published_is_published_by_the_next_start():
    plan = begin()
    commit(plan, 0, publish=False)
    assert TopicLog("topics").last_batch(plan.instance) is None
    begin()
    assert TopicLog("topics").last_batch(plan.instance) == 0


def test_start_creates_output_topics_before_others_create_them_with_another_number_of_partitions():
    begin()
    with pytest.raises(hr.TopicError, match="'totals' cannot be created with 7 partitions: it exists with 2"):
        TopicLog("topics").commit((), create={"totals": 7})


def test_output_topic_that_somebody_creates_during_the_start_is_used_as_it_is_by_the_next_start():
    def meanwhile(tasks, before):
        hr.LocalTopics("topics").create("totals", partitions=7)
        return 2, True

    with pytest.raises(hr.TopicError) as refused:
        begin(parallelism=meanwhile)
    assert str(refused.value) == (
        "Output topic 'totals' has 7 partitions, but application 'app' expected 2: somebody created or changed it "
        "during the start. Start the application again, then it uses the topic as it is."
    )
    assert begin().partitions == {"words": 2, "totals": 7}


@pytest.mark.parametrize("sync_state", [False, True])
def test_topics_are_synced_before_a_start_saves_the_offsets_from_which_it_reads(sync_state, monkeypatch):
    synced, synced_before = [], []
    save = StateLog.start

    def sync(descriptor):
        synced.append(Path(f"/proc/self/fd/{descriptor}").readlink().name)

    def save_first_offsets(self, before, entry, forget_offsets):
        synced_before.append((entry.first_offsets, synced.count("commits.log")))
        return save(self, before, entry, forget_offsets)

    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr(StateLog, "start", save_first_offsets)
    begin(CONFIG.replace(sync_state=sync_state, auto_offset_reset="latest"))
    assert synced_before == [({"words-0": 0, "words-1": 0}, int(sync_state))]


MISSING_RECORDS = (
    "Topic 'words', partition 0, ends at offset 1, but application 'app' continues at offset 2. Was the topics "
    "directory replaced? Put the right one back, or start over: use another application_id and state_dir, or run "
    "`headrace reset`."
)


def replace_topics(monkeypatch, *, records):
    """Replaces the topics directory with a new one that has so many records, and forgets it as a new process does."""
    Path("topics").rename("elsewhere")
    hr.LocalTopics("topics").create("words", partitions=2)
    produce(records)
    monkeypatch.setattr(backend, "_backends", {})


def put_topics_back(monkeypatch):
    shutil.rmtree("topics")
    Path("elsewhere").rename("topics")
    monkeypatch.setattr(backend, "_backends", {})


def produce(number):
    hr.LocalTopics("topics").produce("words", [hr.Record("a", i, 10 + i, partition=0) for i in range(number)])


@pytest.mark.parametrize("publish", [False, True])
def test_topics_directory_without_records_that_were_read_is_refused_until_the_old_one_is_back(publish, monkeypatch):
    produce(2)
    commit(begin(), 0, publish=publish, end=2)
    replace_topics(monkeypatch, records=1)
    with pytest.raises(hr.TopicError) as refused:
        begin()
    assert str(refused.value) == MISSING_RECORDS
    put_topics_back(monkeypatch)
    assert begin().epoch == 2


def test_topics_directory_without_records_that_were_skipped_is_refused_until_the_old_one_is_back(monkeypatch):
    config = CONFIG.replace(auto_offset_reset="latest")
    produce(2)
    assert begin(config).first_offsets == {"words-0": 2, "words-1": 0}
    replace_topics(monkeypatch, records=1)
    with pytest.raises(hr.TopicError) as refused:
        begin(config)
    assert str(refused.value) == MISSING_RECORDS
    put_topics_back(monkeypatch)
    assert begin(config).first_offsets == {"words-0": 2, "words-1": 0}


def test_topics_directory_that_loses_records_while_the_application_runs_is_refused(monkeypatch):
    produce(1)
    plan = begin()
    topics = backend_of(plan)
    with pytest.raises(hr.TopicError) as refused:
        topics.admitted(plan, [2, 0], [1, 0], 10, None)
    assert str(refused.value) == MISSING_RECORDS
    assert topics.admitted(plan, [1, 0], [0, 0], 10, None) == [1, 0]  # the ends were out of date


def test_leftovers_of_earlier_starts_are_deleted():
    commit(begin(), 0)
    for name in ("1-1-fused-aa", "2-1-fused-bb"):
        (STATE / "state" / name).touch()
    (STATE / "log" / ".new-17-cc").touch()
    begin()
    assert [path.name for path in (STATE / "state").iterdir()] == ["2-1-fused-bb"]
    assert sorted(path.name for path in (STATE / "log").iterdir()) == [f"{number:012d}" for number in (1, 2, 3)]


@pytest.mark.parametrize(("committed", "published"), [(-1, None), (0, None), (0, 0), (5, 4), (5, 5)])
def test_topics_may_lack_the_last_batch_of_the_state(committed, published):
    plan = begin()
    if published is not None:
        TopicLog("topics").commit([], producer=plan.instance, batch=published)
    backend_of(CONFIG).refuse_other_age(plan, current_view(plan)._replace(state=ApplicationState(batch=committed)))


@pytest.mark.parametrize(
    ("committed", "published", "said"),
    [
        (5, 6, "have its output up to batch 6. The state directory is older than the topics:"),
        (-1, 0, "have its output up to batch 0. The state directory is older than the topics:"),
        (5, 3, "have its output up to batch 3. The topics directory is older than the state directory:"),
        (1, None, "have its output up to batch -1. The topics directory is older than the state directory:"),
    ],
)
def test_topics_and_state_from_different_times_are_refused(committed, published, said):
    plan = begin()
    if published is not None:
        TopicLog("topics").commit([], producer=plan.instance, batch=published)
    with pytest.raises(hr.StateError) as refused:
        backend_of(CONFIG).refuse_other_age(plan, current_view(plan)._replace(state=ApplicationState(batch=committed)))
    assert str(refused.value) == (
        f"The state of application 'app' in {plan.state_dir!r} has batches up to {committed}, but the topics in "
        f"{plan.topics_dir!r} {said} was it restored from a copy? Restore both from the same time, or start over: use "
        "another application_id and state_dir, or run `headrace reset`."
    )


def test_state_directory_restored_from_an_older_copy_is_refused_until_the_newer_one_is_back():
    plan = begin()
    commit(plan, 0)
    shutil.copytree("state", "copy")
    commit(plan, 1)
    Path("state").rename("newer")
    Path("copy").rename("state")
    with pytest.raises(hr.StateError, match=r"has batches up to 0, .* The state directory is older than the topics"):
        begin()
    shutil.rmtree("state")
    Path("newer").rename("state")
    assert (begin().epoch, committed_view(CONFIG).state.batch) == (2, 1)
