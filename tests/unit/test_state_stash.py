from headrace._state.position import Position
from headrace._state.stash import Stash

ONE, OTHER = Position(3, b"a" * 8), Position(3, b"b" * 8)


def test_blob_is_found_under_its_own_position_only(tmp_path):
    stash = Stash(tmp_path)
    stash.keep(ONE, b"blob")
    assert stash.take(ONE) == b"blob"
    assert stash.take(OTHER) is None


def test_clear_leaves_other_files(tmp_path):
    stash = Stash(tmp_path)
    stash.keep(ONE, b"1")
    stash.keep(OTHER, b"2")
    (tmp_path / "live").mkdir()
    stash.clear()
    assert [entry.name for entry in tmp_path.iterdir()] == ["live"]


def test_missing_directory_is_no_error(tmp_path):
    stash = Stash(tmp_path / "gone")
    stash.keep(ONE, b"blob")
    stash.clear()
    assert stash.take(ONE) is None
