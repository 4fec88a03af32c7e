"""Topologies that tests of several folders run."""

from __future__ import annotations

import re
from datetime import timedelta

import headrace as hr
from headrace import serdes
from tests.support import stop_points

stop_points.install()  # this module is imported wherever a topology of it runs


def words(line):
    """A function of this module, so that every process that runs the topology must import the module."""
    return line.split()


def word_letters():
    """Three sub-topologies in a row, a branch that skips one, and sinks at every stage."""
    builder = hr.StreamsBuilder()
    lines = builder.stream("lines", value_serde=serdes.String())
    counts = (
        lines.flat_map_values(words)
        .group_by(lambda key, word: word, value_serde=serdes.String())
        .count(store="words")
        .to_stream()
    )
    counts.to("word-counts")
    long_lines = lines.filter(lambda key, line: len(line) > 12)
    long_lines.to("long-lines")
    by_letter = (
        counts.map(lambda word, count: (word[0], f"{word}={count}"))
        .merge(long_lines.map(lambda key, line: (line[0], f"long:{line}")))
        .repartition("by-letter", key_serde=serdes.String(), value_serde=serdes.String(), partitions=3)
    )
    by_letter.group_by_key().aggregate(
        list, lambda key, value, seen: [*seen[-3:], value], store="letters", value_serde=serdes.Json()
    ).to_stream().to("letters")
    return builder.build()


def routed_words():
    """Counts of words in a topic for each first letter, partitioned by the length of the word."""
    builder = hr.StreamsBuilder()
    lines = builder.stream("lines", value_serde=serdes.String())
    by_word = lines.flat_map(lambda key, line: [(word, word) for word in words(line)])
    counts = by_word.repartition("words", value_serde=serdes.String(), partitioner=by_length).group_by_key()
    counts.count(store="counts").to_stream().to(
        lambda word, count, context: f"words-{word[0]}", value_serde=serdes.Long(), partitioner=by_length
    )
    return builder.build()


def by_length(topic, key, value, partitions):
    return len(key) % partitions


def takings():
    """The running total of each shop, and the round payments by customer, in order of arrival."""
    builder = hr.StreamsBuilder()
    payments = builder.stream("payments", value_serde=serdes.String())
    payments.filter(lambda customer, payment: payment.endswith("00")).to("round-payments", value_serde=serdes.String())
    payments.group_by(lambda customer, payment: payment.split()[0], value_serde=serdes.String()).aggregate(
        int, lambda shop, payment, sum_: sum_ + int(payment.split()[1]), store="sums", value_serde=serdes.Long()
    ).to_stream().to("takings")
    return builder.build()


class Boundaries(hr.Processor):
    """Forwards records under the id of its task, and a "tick" at 300 ms, 1,300 ms, 2,300 ms, ... of stream time."""

    def init(self, context):
        super().init(context)
        context.schedule(timedelta(seconds=1), hr.PunctuationType.STREAM_TIME, self.tick, timedelta(milliseconds=300))

    def process(self, record):
        self.context.forward(hr.Record(self.context.task_id, record.value))

    def tick(self, timestamp_ms):
        self.context.forward(hr.Record(self.context.task_id, "tick"))


def boundaries():
    builder = hr.StreamsBuilder()
    builder.stream("in").process(Boundaries).to("out")
    return builder.build()


class Busy(hr.Processor):
    """Counts records in fields and in a store; schedules of all kinds, one of which comes and goes, forward fields."""

    def init(self, context):
        super().init(context)
        self.seen, self.latest, self.extra = 0, {}, None
        self.counts = context.state_store("counts")
        for name, kind, shift in (("relative", 0, None), ("grid", 0, 3), ("clock", 1, None), ("clock grid", 1, 4)):
            shifted = None if shift is None else timedelta(milliseconds=shift)
            context.schedule(timedelta(milliseconds=10), list(hr.PunctuationType)[kind], self.forwarder(name), shifted)

    def forwarder(self, name):
        return lambda timestamp_ms: self.context.forward(hr.Record(name, [self.seen, self.latest, timestamp_ms]))

    def process(self, record):
        self.seen += 1
        self.latest = {**self.latest, record.key: self.seen}
        self.counts.put(record.key, (self.counts.get(record.key) or 0) + 1)
        self.context.forward(record.with_value([record.value, self.seen, self.counts.get(record.key)]))
        if self.seen % 5 == 2 and self.extra is None:
            self.extra = self.context.schedule(
                timedelta(milliseconds=7), hr.PunctuationType.STREAM_TIME, self.forwarder("extra"), timedelta(0)
            )
        elif self.seen % 5 == 0 and self.extra is not None:
            self.extra.cancel()
            self.extra = None


def busy():
    """Two sub-topologies with processors; the second reads the records that the first one forwards."""
    builder = hr.StreamsBuilder()
    long = serdes.Long()
    first = builder.stream("in").process(Busy, stores=[hr.Stores.key_value("counts", value_serde=long)])
    first.to("first")
    first.repartition("again", partitions=2).process_values(
        lambda: RecordCounter("totals"), stores=[hr.Stores.key_value("totals", value_serde=long)]
    ).to("second")
    return builder.build()


class RecordCounter(hr.FixedKeyProcessor):
    """Counts records by key, and all records since the processor was created."""

    def __init__(self, store):
        self.store_name, self.seen = store, 0

    def process(self, record):
        self.seen += 1
        counts = self.context.state_store(self.store_name)
        counts.put(record.key, (counts.get(record.key) or 0) + 1)
        at = self.context.current_stream_time_ms
        self.context.forward(record.with_value([record.value, self.seen, counts.get(record.key), at]))


def sales_by_region():
    """Customers with their region, sales with their customer, sums by region and second, totals by first letter.

    Six stages: the three of a foreign-key join, the last of which also joins the sales; the repartition of the sales
    before it; a windowed aggregate; an aggregate of its table.
    """
    builder = hr.StreamsBuilder()
    customers, regions = builder.table("customers"), builder.table("regions")
    placed = customers.join(
        regions,
        lambda customer, region: {**customer, "manager": region},
        foreign_key=lambda key, customer: customer["region"],
        store="placed",
    )
    placed.to_stream().to("placed-customers")
    sales = builder.stream("sales").select_key(lambda key, sale: sale["customer"])
    known = sales.left_join(placed, lambda sale, customer: {"amount": sale["amount"], **(customer or {"region": "?"})})
    known.to("known-sales")
    days = hr.TimeWindows.of(timedelta(seconds=1), grace=timedelta(days=1))
    sums = (
        known.group_by(lambda key, sale: sale["region"])
        .windowed_by(days)
        .aggregate(int, lambda key, sale, total: total + sale["amount"], value_serde=serdes.Long())
    )
    sums.to_stream().to("sums")
    totals = sums.group_by(lambda window, total: (window.key[0], total), value_serde=serdes.Long())
    totals.reduce(lambda total, more: total + more, lambda total, less: total - less, store="totals").to_stream().to(
        "totals"
    )
    return builder.build()


def value_as_key(_, value):
    """A function of this module, see `words`."""
    return value


def orders_by_value():
    """Counts the values of all topics that match a pattern, which the output topic matches, too."""
    builder = hr.StreamsBuilder()
    orders = builder.stream(re.compile("orders-.*"), value_serde=serdes.String())
    counts = orders.group_by(value_as_key, value_serde=serdes.String()).count(store="counts")
    counts.to_stream().to("orders-counted", value_serde=serdes.Long())
    return builder.build()
