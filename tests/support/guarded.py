"""An application with secrets in its settings, to run in a separate process that a test looks into from outside.

`python -m tests.support.guarded DIRECTORY CANARY [BROKER]`. It prints the address of Spark's UI once all records are
processed, then its representations and the plan of its query, and runs until stdin ends.
"""

from __future__ import annotations

import sys
from pathlib import Path

import headrace as hr
from headrace import serdes
from tests.spark.waiting import wait_until_caught_up
from tests.support.registry import LocalRegistry
from tests.support.runtimes import FAST_START


class Remembers(hr.Processor):
    """Has a field, so that its state is pickled."""

    seen = 0

    def process(self, record):
        self.seen += 1
        self.context.forward(record)


def main(registry, directory, canary, broker=None):
    address = registry.url.replace("://", f"://me:{canary}@")
    serde = serdes.Avro("string", registry=serdes.Registry(address), subject="lines")
    builder = hr.StreamsBuilder()
    stream = builder.stream("in", value_serde=serde).process(Remembers)
    stream.group_by(lambda _, value: value, value_serde=serde).count(store="counts").to_stream().to("out")
    (directory / "events").mkdir()
    on_kafka = {"bootstrap_servers": broker, "kafka": {"sasl.password": canary, "ssl.key.password": canary}}
    config = hr.StreamsConfig(
        application_id="guarded",
        **(on_kafka if broker else {"topics_dir": directory / "topics"}),
        state_dir=directory / "state",
        spark_partitions=2,
        spark={
            **FAST_START,
            "spark.driver.extraJavaOptions": f"-XX:+UseSerialGC -Djava.io.tmpdir={directory / 'tmp'}",
            "spark.ui.enabled": "true",
            "spark.ui.port": "0",
            "spark.eventLog.enabled": "true",
            "spark.eventLog.compress": "false",
            "spark.eventLog.dir": (directory / "events").as_uri(),
            "spark.hadoop.fs.s3a.secret.key": canary,
            "spark.hadoop.fs.azure.account.key.lake": canary,
            "spark.sql.catalog.warehouse.password": canary,
            "spark.myapp.token": canary,
            "spark.myapp.passphrase": canary,
        },
    )
    topics = hr.KafkaTopics(broker) if broker else hr.LocalTopics(directory / "topics")
    for name in ("in", "out"):
        topics.create(name, partitions=2)
    topics.produce("in", [hr.Record(str(number), "word", number) for number in range(1, 5)], value_serde=serde)
    app = hr.Streams(builder.build(), config)
    app.start()
    wait_until_caught_up(app)
    running = app._application
    assert running.spark.sparkContext.getConf().get("spark.hadoop.fs.s3a.secret.key") == canary
    assert running.spark.conf.get("spark.myapp.token") == canary
    print(running.spark.sparkContext.uiWebUrl, flush=True)
    print(config, builder, running._graph, app, sep="\n")
    running._query.explain(extended=True)
    print(running._query.lastProgress, flush=True)
    print("ready", flush=True)
    sys.stdin.read()
    app.stop()


if __name__ == "__main__":
    with LocalRegistry(f"me:{sys.argv[2]}") as served:
        main(served, Path(sys.argv[1]), *sys.argv[2:])
