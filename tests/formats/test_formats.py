"""State and topics that earlier versions wrote are read by this one, and their applications continue."""

from __future__ import annotations

import json
import shutil

import pytest

import headrace as hr
from tests.formats.contents import FIXTURES, Application, load

FOLDERS = sorted((path for path in FIXTURES.iterdir() if path.is_dir()), key=lambda path: int(path.name))
VARIANTS = [(folder, variant) for folder in FOLDERS for variant in load(folder).CONFIGS]
every_version = pytest.mark.parametrize(
    ("folder", "variant"), VARIANTS, ids=[f"{folder.name}-{variant}" for folder, variant in VARIANTS]
)


@pytest.fixture
def copied(tmp_path):
    """Copies the state and the topics of a folder, so that an application can continue from them."""

    def copy(folder, variant):
        for name in ("state", "topics"):
            shutil.copytree(folder / variant / name, tmp_path / name)
        return Application(load(folder), variant, tmp_path)

    return copy


def expected(folder, variant):
    return json.loads((folder / "expected.json").read_text())[variant]


@every_version
def test_stores_and_topics_are_read_as_they_were_written(folder, variant, copied):
    assert copied(folder, variant).contents() == expected(folder, variant)["before"]


@every_version
@pytest.mark.parametrize("limit", [3, 1000])
def test_an_application_continues_from_the_state_of_every_version(folder, variant, limit, copied):
    app = copied(folder, variant)
    app.produce(app.module.SECOND)
    app.process("later run", limit=limit)
    assert app.contents() == expected(folder, variant)["after"]


@pytest.mark.spark
def test_an_application_continues_on_spark(spark, copied):
    folder = FOLDERS[0]
    app = copied(folder, "one-clock")
    app.produce(app.module.SECOND)
    hr.Streams(app.module.topology(), app.config, spark).process_available()
    assert app.contents(spark) == expected(folder, "one-clock")["after"]


def test_the_fixtures_have_every_form_of_data():
    for folder, variant in VARIANTS:
        log = (folder / variant / "topics" / "commits.log").read_text()
        forms = ('"format":1', '"format":2', '"consolidated":', '"policies":', '"begin":')
        more = ('"compacts":true',) if folder.name == "1" else ('{"format":3,', '"compacted_records":', '"batches":{"')
        assert [form for form in (*forms, *more) if form not in log] == []
        entries = "".join(path.read_text() for path in (folder / variant / "state" / "log").iterdir())
        assert [form for form in ('"start":', '"commit":', '"base":') if form not in entries] == []


def test_the_fixtures_are_small():
    assert sum(path.stat().st_size for path in FIXTURES.rglob("*") if path.is_file()) < 300_000 * len(FOLDERS)
