"""Passwords and other secrets in settings are shown nowhere: a canary is looked for in reprs and error messages."""

from __future__ import annotations

import traceback
from datetime import timedelta

import pytest

import headrace as hr
from headrace import serdes
from headrace._graph.configured import configured
from headrace._runtime.spark.planning.plan import make_plan
from headrace.errors import StreamsError
from headrace.topics.kafka.cluster import KafkaCluster

CANARY = "canary-4711"
KAFKA = {
    "security.protocol": "SASL_SSL",
    "ssl.ca.location": "/etc/ca.pem",
    "sasl.password": CANARY,
    "ssl.key.password": CANARY,
    "ssl.keystore.password": CANARY,
    "ssl.key.pem": f"-----BEGIN PRIVATE KEY-----\n{CANARY}",
    "sasl.oauthbearer.config": f"principal=me token={CANARY}",
    "sasl.oauthbearer.client.secret": CANARY,
    "sasl.oauthbearer.assertion.private.key.passphrase": CANARY,
    "sasl.jaas.config": f'PlainLoginModule required username="me" password="{CANARY}";',
    "sasl.oauthbearer.token.endpoint.url": f"https://me:{CANARY}@login.example.com/token?client_secret={CANARY}",
}
SPARK = {
    "spark.hadoop.fs.s3a.secret.key": CANARY,
    "spark.hadoop.fs.s3a.access.key": CANARY,
    "spark.hadoop.fs.azure.account.key.lake.dfs.core.windows.net": CANARY,
    "spark.ssl.keyPassword": CANARY,
    "spark.databricks.token": CANARY,
    "spark.authenticate.secret": CANARY,
    "spark.remote": f"sc://spark.example.com:443/;token={CANARY};user_id=me",
    "spark.driver.extraJavaOptions": f"-Xmx1g -Djavax.net.ssl.keyStorePassword={CANARY} -Dx=y",
    "spark.hadoop.fs.sftp.host": f"sftp://me:{CANARY}@files.example.com/in",
}


def config(**changes):
    settings = {"application_id": "app", "bootstrap_servers": "kafka:9092", "kafka": KAFKA, "spark": SPARK}
    return hr.StreamsConfig(**settings | changes)


def topology(**options):
    builder = hr.StreamsBuilder()
    builder.stream("in", **options).group_by_key(**options).count(store="counts").to_stream().to("out")
    return builder.build()


def test_repr_of_a_configuration_hides_secrets_and_shows_the_rest():
    shown = repr(config())
    assert CANARY not in shown
    assert "'security.protocol': 'SASL_SSL'" in shown
    assert "'ssl.ca.location': '/etc/ca.pem'" in shown
    assert "'sasl.password': '...'" in shown
    assert "'spark.hadoop.fs.s3a.secret.key': '...'" in shown
    assert "'spark.remote': 'sc://spark.example.com:443/;token=...;user_id=me'" in shown
    assert "'spark.driver.extraJavaOptions': '-Xmx1g -Djavax.net.ssl.keyStorePassword=... -Dx=y'" in shown
    assert "'spark.hadoop.fs.sftp.host': 'sftp://...@files.example.com/in'" in shown


def test_reprs_of_clusters_and_plans_hide_secrets():
    settings = config()
    cluster = KafkaCluster("kafka:9092", KAFKA)
    plan = make_plan(configured(topology()._graph, settings), settings, {"in": 1, "out": 1}, instance="i", epoch=1)
    for thing in (cluster, plan, plan.stages, hr.KafkaTopics("kafka:9092", KAFKA), hr.Streams(topology(), settings)):
        assert CANARY not in repr(thing)
        assert CANARY not in str(thing)
    assert "'security.protocol': 'SASL_SSL'" in repr(cluster)


def test_reprs_of_registries_and_all_that_uses_them_hide_secrets():
    pytest.importorskip("confluent_kafka.schema_registry")
    registry = serdes.Registry(
        f"https://me:{CANARY}@registry.example.com/?key={CANARY}", {"max.retries": 0, "timeout": 1}
    )
    serde = serdes.Avro({"type": "record", "name": "Order", "fields": []}, registry=registry)
    built = topology(value_serde=serde)
    plan = make_plan(
        configured(built._graph, config()),
        config(default_value_serde=serde),
        {"in": 1, "out": 1},
        instance="i",
        epoch=1,
    )
    for thing in (registry, serde, built, built._graph, built.describe(), plan, config(default_value_serde=serde)):
        assert CANARY not in repr(thing)


REFUSED = [
    lambda: config(kafka=f"sasl.password={CANARY}"),
    lambda: config(spark=f"spark.authenticate.secret={CANARY}"),
    lambda: config(kafka=[("sasl.password", CANARY)]),
    lambda: config(spark=[("spark.authenticate.secret", CANARY)]),
    lambda: config(kafka={**KAFKA, "group.id": CANARY}),
    lambda: config(bootstrap_servers=None),
    lambda: config(topics_dir="topics"),
    lambda: config(application_id=""),
    lambda: config(sasl_password=CANARY),
    lambda: hr.StreamsConfig.from_mapping({"application.id": "app", "sasl.password": CANARY}),
    lambda: config(bootstrap_servers=[f"SASL_SSL://me:{CANARY}@kafka:9092"]),
    lambda: config(state_dir=f"s3a://me:{CANARY}@bucket/state"),
    lambda: KafkaCluster("kafka:9092", {"security.protocol": "SSL", "ssl.key.pem": CANARY}).topics(),
    lambda: KafkaCluster("kafka:9092", {"sasl.password": CANARY, "security.protocol": "SASL"}).topics(),
    lambda: KafkaCluster("kafka:9092", {"sasl.password": CANARY, "no.such.setting": CANARY}).producer(),
    lambda: serdes.Registry(f"https://me:{CANARY}@registry.example.com", {"basic.auth.user.info": CANARY}),
    lambda: serdes.Registry(f"me:{CANARY}@registry.example.com"),
    lambda: serdes.Registry(
        "https://registry.example.com", {"basic.auth.user.info": f"me:{CANARY}", "no.such": CANARY}
    ),
    lambda: serdes.Registry(f"http://me:{CANARY}@127.0.0.1:1", {"max.retries": 0}).schema(1, "AVRO"),
]


@pytest.mark.parametrize("call", REFUSED)
def test_errors_about_settings_hide_secrets(call):
    with pytest.raises(StreamsError) as refused:
        call()
    assert CANARY not in str(refused.value)
    assert CANARY not in "".join(traceback.format_exception(refused.value))


def test_refused_assignments_hide_secrets():
    settings = config()
    with pytest.raises(AttributeError) as refused:
        settings.kafka = {"sasl.password": CANARY}
    assert CANARY not in str(refused.value)
    with pytest.raises(StreamsError) as refused:
        settings.replace(commit_interval=timedelta(-1))
    assert CANARY not in str(refused.value)
