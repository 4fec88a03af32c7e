"""Objects of the state directory: many blobs in one file, and the deletion of such files."""

from __future__ import annotations

import errno
import os
from contextlib import suppress

import pytest

from headrace._state.log import objects
from headrace._state.log.entries import ApplicationState, DeadObject, Location, ObjectUse
from headrace._state.log.files import DiskFiles
from headrace._state.log.objects import MissingObjectError, ObjectWriter, expired, read_blob, sweep
from headrace.errors import StateError

ADVICE = "The state directory is damaged: restore it from a copy, or start over with `headrace reset`."
MEBIBYTE = 1 << 20


@pytest.fixture(params=[True, False], ids=["synced", "not synced"])
def files(request, tmp_path):
    files = DiskFiles(tmp_path, sync=request.param)
    files.make_directory("state")
    return files


def names(files):
    return sorted(files.list("state"))


def written(files, *blobs, epoch=1, batch=0):
    with ObjectWriter(files, epoch, batch, "fused") as writer:
        locations = [writer.append(blob) for blob in blobs]
        writer.finish()
    return locations


def test_blobs_are_packed_in_one_object_and_read_one_by_one(files):
    with ObjectWriter(files, 3, 7, "1.0") as writer:
        locations = [writer.append(blob) for blob in (b"head", b"", b"a delta")]
        assert writer.finish() == {writer.name: ObjectUse(11, 11)}
    assert writer.name.startswith("3-7-1.0-")
    assert locations == [Location(writer.name, *part) for part in ((0, 4), (4, 0), (4, 7))]
    assert [read_blob(files, location, "task 0_0") for location in locations] == [b"head", b"", b"a delta"]
    assert names(files) == [writer.name]


def test_writer_without_a_blob_creates_no_object(files):
    with ObjectWriter(files, 1, 0, "fused") as writer:
        assert writer.finish() == {}
    assert names(files) == []


def test_two_attempts_at_one_batch_write_different_objects(files):
    (one,), (two,) = written(files, b"1"), written(files, b"2")
    assert one.object != two.object
    assert [read_blob(files, location, "") for location in (one, two)] == [b"1", b"2"]


def failing(files, *, finished):
    """Runs an attempt that fails, before or after its object is complete; returns the name of the object."""
    with suppress(ZeroDivisionError), ObjectWriter(files, 1, 0, "fused") as writer:
        writer.append(b"rows")
        if finished:
            writer.finish()
        raise ZeroDivisionError
    return writer.name


def test_attempt_that_fails_leaves_nothing(files):
    failing(files, finished=False)
    assert names(files) == []


def test_complete_object_stays_when_the_attempt_fails_later(files):
    name = failing(files, finished=True)
    assert names(files) == [name]


def test_missing_directory_is_reported(files, tmp_path):
    (tmp_path / "state").rmdir()
    with ObjectWriter(files, 1, 0, "fused") as writer, pytest.raises(StateError) as refused:
        writer.append(b"rows")
    path = tmp_path / "state" / writer.name
    assert (
        str(refused.value) == f"The state directory is missing ({path}): the application was reset, or it was deleted."
    )


def test_error_names_a_missing_object(files):
    (location,) = written(files, b"rows")
    files.delete(f"state/{location.object}")
    with pytest.raises(MissingObjectError) as refused:
        read_blob(files, location, "task 0_0")
    path = f"state/{location.object}"
    assert str(refused.value) == f"task 0_0: {path!r} is missing from the state directory. {ADVICE}"


def test_error_names_an_object_that_is_cut_short(files, tmp_path):
    first, second = written(files, b"whole", b"not whole")
    path = f"state/{first.object}"
    (tmp_path / path).write_bytes(b"wholenot")
    assert read_blob(files, first, "task 0_0") == b"whole"
    with pytest.raises(StateError) as refused:
        read_blob(files, second, "task 0_0")
    assert str(refused.value) == f"task 0_0: {path!r} is cut short, 3 of 9 bytes are left at byte 5. {ADVICE}"


def test_failing_disk_is_reported_with_the_file_and_what_to_do(tmp_path, monkeypatch):
    def fail(descriptor):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    files = DiskFiles(tmp_path)
    files.make_directory("state")
    monkeypatch.setattr("headrace._state.log.files.os.fsync", fail)
    writer = ObjectWriter(files, 1, 0, "fused")
    with pytest.raises(StateError) as refused, writer:
        writer.append(b"rows"), writer.finish()
    path = tmp_path / "state" / writer.name
    assert str(refused.value) == (
        f"Cannot write {str(path)!r}: Input/output error. Check the permissions of the state directory; the "
        "application continues after its last committed batch when started again."
    )
    assert names(files) == []


def dead(**since_ms):
    return ApplicationState(dead={name: DeadObject(10, ms) for name, ms in since_ms.items()})


@pytest.mark.parametrize(
    ("now_ms", "retention_ms", "names"),
    [
        (1000, 500, set()),
        (1400, 500, {"a"}),
        (1450, 500, {"a", "b"}),
        (1000, 0, {"a", "b", "c"}),
        (950, 500, {"c"}),  # the clock was set back, so the age is unknown
    ],
)
def test_dead_objects_expire_after_the_retention(now_ms, retention_ms, names):
    assert set(expired(dead(a=900, b=950, c=1000), now_ms, retention_ms)) == names


def test_oldest_dead_objects_expire_earlier_if_they_have_more_bytes_than_the_live_ones():
    state = ApplicationState(
        objects={"live": ObjectUse(100 * MEBIBYTE, 1)},
        dead={name: DeadObject(40 * MEBIBYTE, ms) for name, ms in (("a", 1), ("b", 2), ("c", 3), ("d", 4))},
    )
    assert set(expired(state, 5, 1000)) == {"a", "b"}
    few = ApplicationState(dead={name: DeadObject(30 * MEBIBYTE, ms) for name, ms in (("a", 1), ("b", 2), ("c", 3))})
    assert expired(few, 5, 1000) == ("a",)


def test_expired_objects_are_deleted_and_a_missing_one_is_no_error(files):
    (location,), (other,) = written(files, b"1"), written(files, b"2")
    objects.delete(files, (location.object, "1-0-gone-00"))
    assert names(files) == [other.object]


def test_objects_of_earlier_starts_that_the_log_does_not_name_are_deleted(files, tmp_path):
    known, orphan = (written(files, b"1", epoch=2)[0].object for _ in range(2))
    own, later = (written(files, b"1", epoch=epoch)[0].object for epoch in (3, 10))
    (tmp_path / "state" / "notes.txt").touch()
    sweep(files, 3, {known})
    assert names(files) == sorted([known, own, later, "notes.txt"])
    assert orphan not in names(files)
