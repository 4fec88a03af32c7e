"""The size of the state directory is proportional to the live state, over many batches and with idle tasks."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

import headrace as hr
from headrace import serdes
from headrace._graph.configured import configured
from headrace._runtime.spark.planning.batch_planner import BatchPlanner
from headrace._runtime.spark.stages.fused import FusedRound
from headrace._runtime.spark.starting import start
from headrace._runtime.spark.state_directory.log import current_view
from headrace._runtime.spark.topics.backend import backend_of
from headrace._state.log.objects import OBJECTS
from headrace._state.log.state_log import LOG


class Application:
    """Stores the latest value of each key, in tasks most of which are idle; runs batch by batch without Spark."""

    def __init__(self, directory, partitions):
        self.directory = directory
        self.topics = hr.LocalTopics(directory / "topics")
        self.topics.create("in", partitions=partitions)
        builder = hr.StreamsBuilder()
        builder.table("in", value_serde=serdes.Bytes(), store="latest").to_stream().map_values(len).to("out")
        config = hr.StreamsConfig(
            application_id="test",
            topics_dir=directory / "topics",
            state_dir=directory / "state",
            local_dir=directory / "local",
            sync_state=False,
        )
        plan = start(configured(builder.build()._graph, config), config, "run", lambda *_: (1, True))
        self.plan = replace(plan, retention_ms=0)
        self.round = FusedRound(self.plan, backend_of(self.plan), None)
        self.planner = BatchPlanner(self.plan, backend_of(self.plan))
        self.view = current_view(self.plan)

    def process(self, records):
        self.topics.produce("in", records, value_serde=serdes.Bytes())
        self.view = self.round.run_batch(self.view, self.planner.next(self.view))

    def sizes(self):
        return {path.name: path.stat().st_size for path in (self.directory / "state" / OBJECTS).iterdir()}

    def live(self):
        return sum(use.live for use in self.view.state.objects.values())


@pytest.mark.slow
def test_idle_tasks_do_not_keep_objects_of_busy_tasks_alive(tmp_path):
    rng, app = random.Random(1), Application(tmp_path, partitions=12)
    for batch in range(400):
        busy = [hr.Record(f"busy{rng.randrange(40)}", rng.randbytes(20_000), batch + 1, partition=0) for _ in range(4)]
        idle = [hr.Record(f"idle{batch % 11}", b"1", batch + 1, partition=1 + batch % 11)]
        app.process(busy + idle)
    assert sum(app.sizes().values()) <= 3 * app.live() + (8 << 20)
    assert set(app.sizes()) == {*app.view.state.objects, *app.view.state.dead}


@pytest.mark.slow
def test_files_stay_few_over_ten_thousand_batches(tmp_path):
    app = Application(tmp_path, partitions=3)
    most = {}
    for batch in range(10_000):
        app.process([hr.Record(f"k{batch % 1000}", b"%d" % batch, batch + 1)])
        if batch % 100 == 99:
            files = {name: len(list((tmp_path / "state" / name).iterdir())) for name in (LOG, OBJECTS)}
            most = {name: max(count, most.get(name, 0)) for name, count in files.items()}
    print(most)
    assert most[LOG] <= 100
    assert most[OBJECTS] <= 400
