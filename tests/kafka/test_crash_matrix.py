"""Kills driver, worker or broker at random moments: nothing is lost or written twice, and the order is right."""

from __future__ import annotations

import random
import time

import pytest

import headrace as hr
from headrace import serdes
from tests.support.killed_application import KilledApplication

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

PARTITIONS = 4
CUSTOMERS, SHOPS = 300, 50
VICTIMS = ("driver", "worker", "broker")


def payments(rng, count, first_ms):
    """Payments every ten milliseconds, some of them late; each has its number in a header."""
    for number in range(count):
        customer = rng.randrange(CUSTOMERS)
        value = f"s{rng.randrange(SHOPS)} {rng.randrange(1, 1_000)}"
        time_ms = first_ms + 10 * number - rng.choice([0, 0, 0, 30])
        yield hr.Record(f"c{customer}", value, time_ms, (("n", b"%d" % number),), partition=customer % PARTITIONS)


def in_order(records):
    """Records by the highest timestamp so far in their partition, then by partition, then by offset."""
    highest = [0] * PARTITIONS
    places = []
    for number, record in enumerate(records):
        highest[record.partition] = max(highest[record.partition], record.timestamp_ms)
        places.append((highest[record.partition], record.partition, number))
    return [records[number] for *_, number in sorted(places)]


class Model:
    """Computes what the application must write."""

    def __init__(self):
        self._sums = {}

    def written(self, records):
        """The expected output by topic and key: values, timestamps and headers in order."""
        found = {}
        for record in in_order(records):
            shop, amount = record.value.split()
            sum_, time_ms = self._sums.get(shop, (0, 0))
            self._sums[shop] = sum_ + int(amount), max(time_ms, record.timestamp_ms)
            found.setdefault(("takings", shop), []).append((*self._sums[shop], record.headers))
            if amount.endswith("00"):
                row = (record.value, record.timestamp_ms, record.headers)
                found.setdefault(("round-payments", record.key), []).append(row)
        return found


class Judge:
    """An independent consumer: reads committed records, every record once."""

    def __init__(self, broker):
        self._settings = {
            "bootstrap.servers": broker.bootstrap_servers,
            "group.id": "judge",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "enable.auto.commit": False,
        }
        self._positions = {
            (topic, partition): 0 for topic in ("takings", "round-payments") for partition in range(PARTITIONS)
        }

    def read(self):
        """The output since the last call, by topic and key: values, timestamps and headers in order."""
        from confluent_kafka import Consumer, TopicPartition

        consumer = Consumer(self._settings)
        consumer.assign([TopicPartition(*place, offset) for place, offset in self._positions.items()])
        found, reading = {}, set(self._positions)
        while reading:
            for message in consumer.consume(10_000, 0.1):
                place = message.topic(), message.partition()
                if message.error() is None:
                    key = message.topic(), message.key().decode()
                    value = decoded(message.topic(), message.value())
                    found.setdefault(key, []).append((value, message.timestamp()[1], tuple(message.headers())))
                else:
                    assert message.error().name() == "_PARTITION_EOF", message.error()
                    self._positions[place] = message.offset()
                    reading.discard(place)
        consumer.close()
        return found


def decoded(topic, value):
    return int.from_bytes(value, "big", signed=True) if topic == "takings" else value.decode()


class Matrix:
    """One application and one broker for all rounds: damage from a crash would show in every later round."""

    def __init__(self, topics, broker, directory, seed, records, batches, **where):
        self._topics, self._records, self._batches = topics, records, batches
        self._rng = random.Random(seed)
        self._model, self._judge = Model(), Judge(broker)
        self._next_ms = 1_000
        self.app = KilledApplication("takings", directory, broker, records // batches, self._rng, **where)
        topics.create("payments", partitions=PARTITIONS)

    def round(self, *victims):
        """Kills the victims one after the other, each in a batch of its own, while the records are processed."""
        inputs = list(payments(self._rng, self._records, self._next_ms))
        self._next_ms = inputs[-1].timestamp_ms + 1_000
        self._topics.produce("payments", inputs, value_serde=serdes.String())
        first, batches = self.app.last_batch() + 1, self._rng.sample(range(self._batches), len(victims))
        self.app.process()
        for victim, batch in zip(victims, sorted(batches), strict=True):
            if self.app.reaches(first + batch):
                time.sleep(self._rng.random() * 1.5)
                self.app.strike(victim)
        self.app.finish()
        assert all("start the application again" in error for error in self.app.errors), self.app.errors
        assert self._judge.read() == self._model.written(inputs)


@pytest.fixture
def matrix(topics, broker, tmp_path):
    made = []

    def make(**settings):
        seed = random.randrange(10**6)
        print(f"seed {seed}")
        made.append(Matrix(topics, broker, tmp_path, seed, **settings))
        return made[0]

    yield make
    for one in made:
        one.app.stop()
        print("; ".join(one.app.events))


@pytest.mark.slow
def test_consumers_do_not_notice_a_killed_broker_and_driver(matrix):
    settings = {"masters": ["local[2,4]"], "outages_s": [0, 1]}
    matrix(records=3_000, batches=3, **settings).round("broker", "driver")


@pytest.mark.slow
def test_consumers_do_not_notice_kills_in_thirty_rounds(matrix):
    settings = {"masters": ["local[2]", "local[2,4]"], "outages_s": [0, 1, 4, 12]}
    rounds = matrix(records=200_000, batches=8, **settings)
    for number in range(30):
        began_s, before = time.monotonic(), len(rounds.app.events)
        rounds.round(VICTIMS[number % len(VICTIMS)])
        said = "; ".join(rounds.app.events[before:])
        print(f"round {number + 1}, {time.monotonic() - began_s:.0f} s: {said}", flush=True)
