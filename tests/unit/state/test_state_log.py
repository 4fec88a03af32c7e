"""The state log: the state after its entries, who may append one, and which entries are retained."""

from __future__ import annotations

import shutil
import threading

import pytest

from headrace._state.log.entries import (
    ApplicationState,
    BatchPlan,
    Commit,
    LogEntry,
    Start,
    encode,
)
from headrace._state.log.files import DiskFiles
from headrace._state.log.state_log import StateLog, TakenOverError
from headrace.errors import StateError

START = Start("app", "an instance", 0, 1)


@pytest.fixture
def make(tmp_path):
    """Opens logs of one directory; each one acts as a new process without a cached view."""
    return lambda files=None: StateLog(files or DiskFiles(tmp_path, sync=False), "Application 'app'")


@pytest.fixture
def log(make):
    return make()


def commit_batches(log, view, batches):
    """Commits empty batches, one after the other."""
    for _ in range(batches):
        batch = view.state.batch + 1
        view = log.commit(view, Commit(batch, batch, {"in-0": batch + 1}))
    return view


def numbers(tmp_path):
    return sorted(int(path.name) for path in (tmp_path / "log").iterdir())


def test_log_without_a_start_is_empty(log):
    assert log.view() is None


def test_start_begins_with_an_empty_state(log, make):
    view = log.start(None, START)
    assert (view.number, view.epoch, view.start, view.state, view.unfinished) == (1, 1, START, ApplicationState(), None)
    assert log.view() == make().view() == view


def test_plan_is_unfinished_until_its_batch_is_committed(log, make):
    view = commit_batches(log, log.start(None, START), 1)
    plan = BatchPlan(1, {"in-0": 7}, 5, "a run", 2, 3)
    planned = log.plan(view, plan)
    assert (planned.unfinished, planned.state.batch, planned.number) == (plan, 0, 3)
    assert make().view() == planned
    again = make().start(planned, Start("app", "an instance", 1, 2))
    assert (again.epoch, again.unfinished, again.state) == (2, plan, planned.state)
    done = log.commit(again, Commit(1, 9, plan.ends))
    assert (done.unfinished, done.state.batch, done.state.offsets) == (None, 1, {"in-0": 7})


def test_next_start_continues_with_the_state_and_the_next_epoch(log, make):
    before = commit_batches(log, log.start(None, START), 3)
    later = Start("app", "an instance", 3, 99, {"any": "layout"}, {"in-0": 5})
    view = make().start(before, later)
    assert (view.number, view.epoch, view.start, view.state) == (5, 2, later, before.state)
    assert log.view() == view


def test_whole_state_is_written_periodically_and_old_entries_are_deleted(log, make, tmp_path):
    view, writer = log.start(None, START), make()
    reader, longest, most = make(), 0, 0
    for _ in range(400):
        view = commit_batches(writer, view, 1)
        longest = max(longest, view.since_base)
        most = max(most, len(numbers(tmp_path)))
        assert reader.view() == view
    assert (view.number, view.state.batch, view.state.offsets) == (401, 399, {"in-0": 400})
    assert make().view() == view
    kept = numbers(tmp_path)
    assert kept == list(range(kept[0], 402))
    assert (longest, most) == (32, 32 + 64 + 1)


def test_reader_that_missed_a_trim_reads_the_log_again(log, make):
    view = commit_batches(log, log.start(None, START), 5)
    reader = make()
    assert reader.view() == view
    view = commit_batches(log, view, 300)
    assert reader.view() == view


def test_old_entries_are_deleted_even_if_every_start_runs_only_few_batches(make, tmp_path):
    view = None
    for epoch in range(1, 201):
        log = make()
        view = commit_batches(log, log.start(view, START), 2)
        assert (view.epoch, view.state.batch) == (epoch, 2 * epoch - 1)
    assert make().view() == view
    assert len(numbers(tmp_path)) < 200


def test_one_of_two_commits_of_the_same_batch_is_refused(log, make):
    view = log.start(None, START)
    won = commit_batches(log, view, 1)
    with pytest.raises(TakenOverError) as refused:
        commit_batches(make(), view, 1)
    assert str(refused.value) == "Application 'app': another attempt has committed this batch; this one ends."
    assert make().view() == won


def test_superseded_start_can_neither_plan_nor_commit(log, make):
    view = log.start(None, START)
    newer = make().start(view, START)
    for write in (lambda: log.plan(view, BatchPlan(0, {})), lambda: log.commit(view, Commit(0, 5, {}))):
        with pytest.raises(TakenOverError) as refused:
            write()
        assert str(refused.value) == (
            "Application 'app' was started again (start 2; this is start 1): the newer start continues, this one ends "
            "without writing."
        )
    assert make().view() == newer


def test_only_one_of_many_concurrent_first_starts_succeeds(make):
    found = []

    def begin():
        try:
            found.append(make().start(None, START).epoch)
        except TakenOverError:
            found.append("taken over")

    threads = [threading.Thread(target=begin) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found, key=str) == [1, *["taken over"] * 7]
    assert make().view().number == 1


def test_entry_number_freed_by_a_trim_is_not_used(log, make, tmp_path):
    stopped = commit_batches(log, log.start(None, START), 3)
    view = commit_batches(make(), make().view(), 300)
    assert stopped.number + 1 not in numbers(tmp_path)
    with pytest.raises(TakenOverError):
        commit_batches(log, stopped, 1)
    assert stopped.number + 1 not in numbers(tmp_path)
    assert make().view() == view


def test_earlier_start_cannot_write_after_a_reset(log, make, tmp_path):
    view = commit_batches(log, log.start(None, START), 2)
    (tmp_path / "log").rename(tmp_path / "log.discarded")
    with pytest.raises(TakenOverError, match=r"^Application 'app' was reset: this start ends without writing\.$"):
        commit_batches(log, view, 1)
    assert (log.view(), (tmp_path / "log").exists()) == (None, False)


def test_start_during_a_reset_is_refused_and_may_be_retried(log, make, tmp_path):
    view = log.start(None, START)
    (tmp_path / "log").rename(tmp_path / "log.discarded")
    with pytest.raises(TakenOverError, match="was reset"):
        log.start(view, START)
    assert (make().view(), numbers(tmp_path)) == (None, [])
    assert make().start(None, START).epoch == 1


def test_new_log_ignores_entries_from_before_the_reset(log, make, tmp_path):
    before = commit_batches(log, log.start(None, START), 2)
    shutil.rmtree(tmp_path / "log")
    other = make()
    now = commit_batches(other, other.start(None, Start("app", "another instance", 0, 2)), 2)
    with pytest.raises(TakenOverError):
        commit_batches(log, before, 1)
    assert make().view() == log.view() == now
    assert commit_batches(other, now, 1).number == 4


class UnreliableFiles(DiskFiles):
    """Kills the process, or loses the result of a call, before or after a step."""

    def __init__(self, root, *, fails_before=(), fails_after=()):
        super().__init__(root, sync=False)
        self.fails_before, self.fails_after = fails_before, fails_after

    def publish(self, path, data):
        if "publish" in self.fails_before:
            raise KeyboardInterrupt
        done = super().publish(path, data)
        if "publish" in self.fails_after:
            raise KeyboardInterrupt
        return done

    def delete(self, path):
        if "delete" in self.fails_before:
            raise KeyboardInterrupt
        super().delete(path)


@pytest.mark.parametrize(("failing", "batch"), [({"fails_before": ["publish"]}, 0), ({"fails_after": ["publish"]}, 1)])
def test_entry_of_a_killed_process_is_either_complete_or_absent(log, make, tmp_path, failing, batch):
    view = commit_batches(log, log.start(None, START), 1)
    with pytest.raises(KeyboardInterrupt):
        commit_batches(make(UnreliableFiles(tmp_path, **failing)), view, 1)
    view = make().view()
    assert view.state.batch == batch
    assert commit_batches(make(), view, 1).state.batch == batch + 1


@pytest.mark.parametrize("deletes", [True, False])
@pytest.mark.parametrize("looks_again", [True, False])
def test_start_from_before_a_reset_leaves_nothing_in_the_new_log_even_if_it_is_killed(
    log, make, tmp_path, deletes, looks_again
):
    commit_batches(log, log.start(None, START), 2)
    zombie = make(UnreliableFiles(tmp_path, fails_before=["delete"]))
    stopped = zombie.view()
    (tmp_path / "log").rename(tmp_path / "log.discarded")
    if deletes:
        shutil.rmtree(tmp_path / "log.discarded")
    other = make()
    now = commit_batches(other, other.start(None, Start("app", "another instance", 0, 2)), 1)
    before = numbers(tmp_path)
    if looks_again:
        assert zombie.view() == now
    with pytest.raises(TakenOverError, match="was reset"):
        commit_batches(zombie, stopped, 1)
    assert (numbers(tmp_path), make().view()) == (before, now)


def test_entry_is_read_back_if_the_result_of_its_creation_is_unknown(log, make, tmp_path):
    class Unsure(DiskFiles):
        def publish(self, path, data):
            assert super().publish(path, data)
            return False  # as an object store answers when its client retries

    view = log.start(None, START)
    assert commit_batches(make(Unsure(tmp_path, sync=False)), view, 1) == make().view()


def test_error_names_a_missing_entry(log, make, tmp_path):
    commit_batches(log, log.start(None, START), 3)
    (tmp_path / "log" / f"{3:012d}").unlink()
    with pytest.raises(StateError) as refused:
        make().view()
    assert str(refused.value) == (
        f"Application 'app': {str(tmp_path / 'log' / '000000000003')!r} is missing from the state log. Restore the "
        "state directory from a copy, or start over with `headrace reset`."
    )


def test_log_without_a_whole_state_is_refused(log, make, tmp_path):
    commit_batches(log, log.start(None, START), 1)
    (tmp_path / "log" / f"{1:012d}").write_bytes(encode(LogEntry(1, "nonce", 0, plan=BatchPlan(0, {}))))
    with pytest.raises(StateError, match=r"^Application 'app': the state log has no entry with a whole state\. "):
        make().view()
