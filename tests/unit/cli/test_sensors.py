"""The demo of sensors without Spark: its readings, and the tables it shows of two outcomes."""

from __future__ import annotations

from headrace.cli.demos import sensors
from headrace.cli.demos.sensors_input import DEVICES, MIDNIGHT_MS, MINUTE_MS, MINUTES, of_device, readings
from headrace.cli.demos.sensors_tour import Climate, TourResult, arrival_rows, arrivals, figures, window_rows
from headrace.config import StreamsConfig
from headrace.model.record import Record
from headrace.testing import TopologyTestDriver

NOON_MS = MIDNIGHT_MS + 12 * 60 * MINUTE_MS
SEVENTEEN = "device-17"


def test_each_device_sends_a_reading_of_every_minute_before_the_next_begins():
    sent = list(readings())
    assert [record.key for record in sent] == [device for device in DEVICES for _ in range(MINUTES)]
    minutes = [MIDNIGHT_MS + minute * MINUTE_MS for minute in range(MINUTES)]
    arrived = [record.timestamp_ms for record in of_device(SEVENTEEN)]
    assert sorted(arrived) == minutes
    assert arrived != minutes
    assert of_device(SEVENTEEN) == of_device(SEVENTEEN)


def test_no_reading_is_late_by_its_devices_own_clock():
    config = StreamsConfig(application_id="t", allow_stream_time_key_tracking=True)
    with TopologyTestDriver(sensors.topology, config) as driver:
        for device in DEVICES[:2]:
            for record in of_device(device):
                driver.input_topic("readings").pipe(record.key, record.value, record.timestamp_ms)
        results = driver.output_topic("climates").read_all()
        waiting = driver.store("final-store").num_rows()
        assert "climate" not in driver.metrics()
    assert {record.value["readings"] for record in results} == {5}
    assert (len(results) / 2, waiting / 2) == (285, 3)
    assert results[0] == Record(
        DEVICES[0],
        {"from_ms": MIDNIGHT_MS, "readings": 5, "celsius": mean(of_device(DEVICES[0]))},
        MIDNIGHT_MS + 4 * MINUTE_MS,
    )


def mean(records):
    first = sorted(records, key=lambda record: record.timestamp_ms)[:5]
    return round(sum(record.value for record in first) / 5, 1)


def test_arrivals_are_the_devices_of_the_first_partition_in_order():
    records = [Record("b", 1.0, 0, partition=0), Record("c", 1.0, 0, partition=1), Record("a", 1.0, 0, partition=0)]
    assert arrivals(records) == [("b", 1), ("a", 1)]
    assert list(arrival_rows([("b", 1440), ("a", 1440)])) == [
        ("b", "1,440", "00:00 to 23:59", "advances 00:00 to 23:59"),
        ("a", "1,440", "00:00 to 23:59", "stays at 23:59"),
    ]


def test_outcomes_are_shown_side_by_side():
    one = TourResult(read=1008, late=1000, final={(SEVENTEEN, MIDNIGHT_MS): Climate(5, 20.04)}, waiting={("x", 0): 3})
    each = TourResult(
        read=1008,
        late=0,
        final={(SEVENTEEN, MIDNIGHT_MS): Climate(5, 20.04), (SEVENTEEN, NOON_MS): Climate(1, 21.0)},
        waiting={(SEVENTEEN, MIDNIGHT_MS + 1420 * MINUTE_MS): 4},
    )
    assert list(figures(one, each)) == [
        ("readings", "1,008", "1,008"),
        ("  dropped as late", "1,000", "0"),
        ("  in final results", "5", "6"),
        ("  in windows still open", "3", "4"),
        ("final results", "1", "2"),
        ("windows still open", "1", "1"),
    ]
    assert list(window_rows(SEVENTEEN, one, each)) == [
        (SEVENTEEN, "00:00 - 00:05", "20.0 °C, 5 readings", "20.0 °C, 5 readings"),
        (SEVENTEEN, "06:00 - 06:05", "lost", "lost"),
        (SEVENTEEN, "12:00 - 12:05", "lost", "21.0 °C, 1 reading"),
        (SEVENTEEN, "23:40 - 23:45", "lost", "still open"),
        (SEVENTEEN, "23:45 - 23:50", "lost", "lost"),
    ]
    assert (one.whole, each.whole) == (1, 1)
