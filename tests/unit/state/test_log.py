"""The state log: what entries add up to, who may append one, and what is kept of it."""

from __future__ import annotations

import shutil
import threading

import pytest

from headrace._state.log.entries import (
    BatchPlan,
    Commit,
    Entry,
    Start,
    State,
    encode,
)
from headrace._state.log.files import DiskFiles
from headrace._state.log.state_log import StateLog, TakenOverError
from headrace.errors import StateError

START = Start("app", "an instance", 0, 1)


@pytest.fixture
def make(tmp_path):
    """Logs of one directory; each is another process that knows nothing yet."""
    return lambda files=None: StateLog(files or DiskFiles(tmp_path, sync=False), "Application 'app'")


@pytest.fixture
def log(make):
    return make()


def committed(log, view, batches):
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
    assert (view.number, view.epoch, view.start, view.state, view.unfinished) == (1, 1, START, State(), None)
    assert log.view() == make().view() == view


def test_plan_is_unfinished_until_its_batch_is_committed(log, make):
    view = committed(log, log.start(None, START), 1)
    plan = BatchPlan(1, {"in-0": 7}, 5, "a run", 2, 3)
    planned = log.plan(view, plan)
    assert (planned.unfinished, planned.state.batch, planned.number) == (plan, 0, 3)
    assert make().view() == planned
    again = make().start(planned, Start("app", "an instance", 1, 2))
    assert (again.epoch, again.unfinished, again.state) == (2, plan, planned.state)
    done = log.commit(again, Commit(1, 9, plan.ends))
    assert (done.unfinished, done.state.batch, done.state.offsets) == (None, 1, {"in-0": 7})


def test_next_start_goes_on_from_the_state_and_has_the_next_epoch(log, make):
    before = committed(log, log.start(None, START), 3)
    later = Start("app", "an instance", 3, 99, {"any": "layout"}, {"in-0": 5})
    view = make().start(before, later)
    assert (view.number, view.epoch, view.start, view.state) == (5, 2, later, before.state)
    assert log.view() == view


def test_whole_states_are_written_every_so_often_and_old_entries_deleted(log, make, tmp_path):
    view, writer = log.start(None, START), make()
    reader, longest, most = make(), 0, 0
    for _ in range(400):
        view = committed(writer, view, 1)
        longest = max(longest, view.since_base)
        most = max(most, len(numbers(tmp_path)))
        assert reader.view() == view
    assert (view.number, view.state.batch, view.state.offsets) == (401, 399, {"in-0": 400})
    assert make().view() == view
    kept = numbers(tmp_path)
    assert kept == list(range(kept[0], 402))
    assert (longest, most) == (32, 32 + 64 + 1)


def test_reader_that_has_slept_while_the_log_was_trimmed_reads_it_anew(log, make):
    view = committed(log, log.start(None, START), 5)
    reader = make()
    assert reader.view() == view
    view = committed(log, view, 300)
    assert reader.view() == view


def test_old_entries_are_deleted_too_if_every_start_runs_but_few_batches(make, tmp_path):
    view = None
    for epoch in range(1, 201):
        log = make()
        view = committed(log, log.start(view, START), 2)
        assert (view.epoch, view.state.batch) == (epoch, 2 * epoch - 1)
    assert make().view() == view
    assert len(numbers(tmp_path)) < 200


def test_of_two_who_commit_the_same_batch_one_is_refused(log, make):
    view = log.start(None, START)
    won = committed(log, view, 1)
    with pytest.raises(TakenOverError) as refused:
        committed(make(), view, 1)
    assert str(refused.value) == "Application 'app': another attempt has committed this batch; this one ends."
    assert make().view() == won


def test_start_that_was_overtaken_can_neither_plan_nor_commit(log, make):
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


def test_of_many_first_starts_one_is_the_first(make):
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


def test_number_that_is_free_only_because_the_log_was_trimmed_is_not_used(log, make, tmp_path):
    stopped = committed(log, log.start(None, START), 3)
    view = committed(make(), make().view(), 300)
    assert stopped.number + 1 not in numbers(tmp_path)
    with pytest.raises(TakenOverError):
        committed(log, stopped, 1)
    assert stopped.number + 1 not in numbers(tmp_path)
    assert make().view() == view


def test_reset_lets_no_earlier_start_write(log, make, tmp_path):
    view = committed(log, log.start(None, START), 2)
    (tmp_path / "log").rename(tmp_path / "log.discarded")
    with pytest.raises(TakenOverError, match=r"^Application 'app' was reset: this start ends without writing\.$"):
        committed(log, view, 1)
    assert (log.view(), (tmp_path / "log").exists()) == (None, False)


def test_start_during_a_reset_is_refused_and_may_then_begin_anew(log, make, tmp_path):
    view = log.start(None, START)
    (tmp_path / "log").rename(tmp_path / "log.discarded")
    with pytest.raises(TakenOverError, match="was reset"):
        log.start(view, START)
    assert (make().view(), numbers(tmp_path)) == (None, [])
    assert make().start(None, START).epoch == 1


def test_log_that_was_begun_anew_takes_nothing_from_before_the_reset(log, make, tmp_path):
    before = committed(log, log.start(None, START), 2)
    shutil.rmtree(tmp_path / "log")
    other = make()
    now = committed(other, other.start(None, Start("app", "another instance", 0, 2)), 2)
    with pytest.raises(TakenOverError):
        committed(log, before, 1)
    assert make().view() == log.view() == now
    assert committed(other, now, 1).number == 4


class Lost(DiskFiles):
    """The process is killed, or the answer is lost, before or after a step."""

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
def test_entry_of_a_process_that_was_killed_is_there_or_not(log, make, tmp_path, failing, batch):
    view = committed(log, log.start(None, START), 1)
    with pytest.raises(KeyboardInterrupt):
        committed(make(Lost(tmp_path, **failing)), view, 1)
    view = make().view()
    assert view.state.batch == batch
    assert committed(make(), view, 1).state.batch == batch + 1


@pytest.mark.parametrize("deletes", [True, False])
@pytest.mark.parametrize("looks_again", [True, False])
def test_start_of_before_a_reset_leaves_nothing_in_the_new_log_even_if_it_is_killed(
    log, make, tmp_path, deletes, looks_again
):
    committed(log, log.start(None, START), 2)
    zombie = make(Lost(tmp_path, fails_before=["delete"]))
    stopped = zombie.view()
    (tmp_path / "log").rename(tmp_path / "log.discarded")
    if deletes:
        shutil.rmtree(tmp_path / "log.discarded")
    other = make()
    now = committed(other, other.start(None, Start("app", "another instance", 0, 2)), 1)
    before = numbers(tmp_path)
    if looks_again:
        assert zombie.view() == now
    with pytest.raises(TakenOverError, match="was reset"):
        committed(zombie, stopped, 1)
    assert (numbers(tmp_path), make().view()) == (before, now)


def test_file_system_that_does_not_know_whether_it_has_published_is_asked_again(log, make, tmp_path):
    class Unsure(DiskFiles):
        def publish(self, path, data):
            assert super().publish(path, data)
            return False  # as an object store says when it is asked a second time

    view = log.start(None, START)
    assert committed(make(Unsure(tmp_path, sync=False)), view, 1) == make().view()


def test_missing_entry_is_named(log, make, tmp_path):
    committed(log, log.start(None, START), 3)
    (tmp_path / "log" / f"{3:012d}").unlink()
    with pytest.raises(StateError) as refused:
        make().view()
    assert str(refused.value) == (
        f"Application 'app': {str(tmp_path / 'log' / '000000000003')!r} is missing from the state log. Restore the "
        "state directory from a copy, or start anew with `headrace reset`."
    )


def test_log_without_a_whole_state_is_refused(log, make, tmp_path):
    committed(log, log.start(None, START), 1)
    (tmp_path / "log" / f"{1:012d}").write_bytes(encode(Entry(1, "nonce", 0, plan=BatchPlan(0, {}))))
    with pytest.raises(StateError, match=r"^Application 'app': the state log has no entry with a whole state\. "):
        make().view()
