"""What a processor's context offers besides records and stores: settings, default serdes, own metrics."""

from __future__ import annotations

from pathlib import Path

import pytest

import headrace as hr
from headrace import serdes
from headrace.testing import TopologyTestDriver
from tests.support.plan_runner import PlanRunner
from tests.support.runtimes import PlanRuntime


class Watching(hr.Processor):
    """Counts negative values, and has a gauge of the last value; keeps its counter, but not its gauge, in a field."""

    def init(self, context):
        super().init(context)
        self.negative = context.metrics.counter("negative")
        self.metrics = context.metrics

    def process(self, record):
        if record.value == "fail":
            self.negative.add(100)
            raise ValueError(record.value)
        self.metrics.gauge("last").set(record.value)
        if record.value < 0:
            self.negative.add()
        self.context.forward(record)


def watched():
    builder = hr.StreamsBuilder()
    builder.stream("in").process(Watching, name="watch").to("out")
    return builder.build()


def test_own_counters_and_gauges_are_among_the_metrics(runtime):
    _, metrics = runtime.run(watched(), [("in", "k", value, 1) for value in (3, -1, -5, 4)])
    assert metrics["watch"] == {"counters": {"negative": 2}, "gauges": {"last": 4}}


def test_a_gauge_is_the_sum_of_the_last_values_of_all_tasks_also_after_a_restart():
    with TopologyTestDriver(watched()) as driver:
        for partition, value in [(0, 5), (1, 7), (0, 6)]:
            driver.input_topic("in").pipe("k", value, 1, partition=partition)
        assert driver.metrics()["watch"]["gauges"] == {"last": 13}
        driver.restart()
        assert driver.metrics()["watch"]["gauges"] == {"last": 13}
        driver.input_topic("in").pipe("k", 0, 1, partition=1)
        assert driver.metrics()["watch"]["gauges"] == {"last": 6}


def test_metrics_of_a_failed_batch_are_not_counted(tmp_path):
    with TopologyTestDriver(watched()) as driver:
        driver.input_topic("in").pipe("k", -1, 1)
        with pytest.raises(hr.ProcessingError):
            driver.input_topic("in").pipe("k", "fail", 1)
        assert driver.metrics()["watch"] == {"counters": {"negative": 1}, "gauges": {"last": -1}}
    runtime = PlanRuntime(tmp_path)
    runtime.produce(watched(), [("in", "k", -1, 1)])
    runner = PlanRunner(watched(), tmp_path, config=runtime.config())
    runner.run_batch(limit=100)
    runtime.produce(watched(), [("in", "k", "fail", 2)])
    with pytest.raises(hr.ProcessingError):
        runner.run_batch(limit=100)
    assert runner.metrics()["watch"] == {"counters": {"negative": 1}, "gauges": {"last": -1}}


@pytest.mark.parametrize(
    ("use", "problem"),
    [
        (lambda metrics: metrics.counter(""), "was given the name ''"),
        (lambda metrics: metrics.counter("x").add(0.5), "metric 'x' was given 0.5; it takes whole numbers"),
        (lambda metrics: metrics.gauge("x").set("7"), "metric 'x' was given '7'; it takes whole numbers"),
    ],
)
def test_malformed_metrics_are_refused(use, problem):
    class Using(hr.Processor):
        def process(self, record):
            use(self.context.metrics)

    builder = hr.StreamsBuilder()
    builder.stream("in").process(Using)
    with TopologyTestDriver(builder.build()) as driver, pytest.raises(hr.ProcessingError, match=problem):
        driver.input_topic("in").pipe("k", "v", 1)


class Configured(hr.Processor):
    """Forwards what it sees of the settings."""

    def process(self, record):
        context = self.context
        seen = {
            "own": context.app_configs["shop.currency"],
            "setting": context.app_configs["max_records_per_batch"],
            "prefixed": context.app_configs_with_prefix("shop."),
            "hidden": [name for name in ("kafka", "spark") if name in context.app_configs],
            "serdes": [type(serde).__name__ for serde in (context.key_serde, context.value_serde)],
            "state": Path(context.state_dir).name,
        }
        context.forward(record.with_value(seen))


def test_processors_read_settings_serdes_and_the_state_directory(runtime):
    builder = hr.StreamsBuilder()
    builder.stream("in", value_serde=serdes.Json()).process(Configured).to("out", value_serde=serdes.Json())
    config = {"app_configs": {"shop.currency": "CHF", "shop.vat": 8}, "default_value_serde": serdes.Long()}
    if runtime.name == "driver":
        config["state_dir"] = "state"
    outputs, _ = runtime.run(builder.build(), [("in", "k", "v", 1)], config=config)
    assert outputs["out"] == [
        hr.Record(
            "k",
            {
                "own": "CHF",
                "setting": 1_000_000,
                "prefixed": {"currency": "CHF", "vat": 8},
                "hidden": [],
                "serdes": ["String", "Long"],
                "state": "state",
            },
            1,
        )
    ]
