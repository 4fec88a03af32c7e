"""Runs the application of a folder of fixtures without Spark, and reads its stores and topics as plain values."""

from __future__ import annotations

import importlib.util
from datetime import timedelta
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import headrace as hr
from headrace._graph.configured import configured
from headrace._runtime.defaults import Defaults
from tests.support.plan_runner import PlanRunner
from tests.support.runtimes import PlanRuntime

FIXTURES = Path(__file__).parents[1] / "fixtures" / "formats"


class Application(NamedTuple):
    """The application of a folder with one of its configurations, on the state and topics in a directory."""

    module: ModuleType
    variant: str
    directory: Path

    @property
    def config(self) -> hr.StreamsConfig:
        settings = self.module.CONFIGS[self.variant]
        paths = {f"{name}_dir": self.directory / name for name in ("topics", "state", "local")}
        return hr.StreamsConfig(application_id="test", state_retention=timedelta(0), **paths | settings)

    @property
    def topics(self) -> hr.LocalTopics:
        return hr.LocalTopics(self.directory / "topics")

    def produce(self, inputs: list[tuple]) -> None:
        """Writes `(topic, key, value, timestamp_ms)` records, those of a topic at once."""
        defaults = Defaults.of(self.config)
        for source in self.module.topology()._graph.user_sources:
            key_serde, value_serde = defaults.serdes(source)
            for topic in source.topics:
                records = [hr.Record(*record) for to, *record in inputs if to == topic]
                if topic not in self.topics.list():
                    self.topics.create(topic, partitions=self.module.PARTITIONS)
                self.topics.produce(topic, records, key_serde=key_serde, value_serde=value_serde)

    def process(self, run: str, *, limit: int) -> None:
        """Processes all available records in batches of at most `limit` records."""
        runner = PlanRunner(self.module.topology(), self.directory, config=self.config, run=run)
        while runner.run_batch(limit=limit):
            pass

    def contents(self, spark: Any = None) -> dict[str, Any]:
        """All entries of all stores, and all records of all output topics."""
        topology = self.module.topology()
        app, graph = hr.Streams(topology, self.config, spark), configured(topology._graph, self.config)
        runtime = PlanRuntime(self.directory)
        return {
            "stores": {name: _entries(app.store(name)) for name in graph.stores if not name.startswith("$")},
            "topics": {topic: _plain(records) for topic, records in runtime.outputs(topology).items()},
            "offsets": {topic: self.topics.describe(topic).records for topic in self.topics.list()},
        }


def load(folder: Path) -> ModuleType:
    """Imports the application of a folder."""
    spec = importlib.util.spec_from_file_location(f"formats_{folder.name}", folder / "app.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _entries(view: Any) -> Any:
    entries = list(view.all())
    for more in ("with_headers", "with_timestamps"):
        if hasattr(view, more):
            entries = list(getattr(view, more)().all())
            break
    if hasattr(view, "versions"):
        entries = [(key, list(view.versions(key))) for key, _ in entries]
    return _plain(entries)


def _plain(value: Any) -> Any:
    """A value as JSON, which says nothing about classes that later versions may change."""
    if isinstance(value, hr.Windowed):
        return [_plain(value.key), value.window.start_ms, value.window.end_ms]
    if isinstance(value, hr.Record):
        return [_plain(value.key), _plain(value.value), value.timestamp_ms]
    if isinstance(value, bytes):
        return value.hex()
    return [_plain(one) for one in value] if isinstance(value, tuple | list) else value
