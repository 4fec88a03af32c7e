"""Tests of the shop, on the test driver: no Java, no Spark, no broker."""

from datetime import datetime

import app
import pytest

from headrace import serdes
from headrace.testing import TopologyTestDriver


def at(clock: str) -> int:
    return int(datetime.fromisoformat(f"2026-05-04T{clock}Z").timestamp()) * 1000


@pytest.fixture
def driver():
    with TopologyTestDriver(app.topology, app.config) as driver:
        driver.input_topic("customers").pipe("ann", app.Customer("Ann", "CH"), at("09:00"))
        yield driver


def order(driver, number, order, clock):
    driver.input_topic("orders").pipe(number, order, at(clock))


def read(driver, topic):
    return driver.output_topic(topic).read_key_values()


def test_an_order_gets_the_country_of_its_customer(driver):
    order(driver, "o1", app.Order("ann", 2500), "10:05")
    order(driver, "o2", app.Order("bob", 1000), "10:06")
    assert read(driver, "orders-located") == [
        ("o1", app.Order("ann", 2500, country="CH")),
        ("o2", app.Order("bob", 1000, country="unknown")),
    ]


def pay(driver, number, clock):
    driver.input_topic("payments").pipe(number, app.Payment("card"), at(clock))


def test_an_order_that_is_paid_within_an_hour_is_paid(driver):
    order(driver, "o1", app.Order("ann", 2500), "10:05")
    pay(driver, "o1", "11:05")
    assert read(driver, "orders-paid") == [("o1", app.Order("ann", 2500, country="CH", paid=True))]
    assert read(driver, "orders-unpaid") == []


def test_an_order_without_a_payment_is_unpaid_when_its_hour_and_the_grace_are_over(driver):
    order(driver, "o1", app.Order("ann", 2500), "10:05")
    order(driver, "o2", app.Order("ann", 100), "11:15")
    assert read(driver, "orders-unpaid") == []
    order(driver, "o3", app.Order("ann", 100), "11:16")
    assert read(driver, "orders-unpaid") == [("o1", app.Order("ann", 2500, country="CH"))]


def test_revenue_is_reported_once_when_its_hour_is_closed(driver):
    for number, cents, clock in [("o1", 2500, "10:05"), ("o2", 500, "10:50"), ("o3", 100, "11:20")]:
        order(driver, number, app.Order("ann", cents), clock)
        pay(driver, number, clock)
    assert read(driver, "revenue-per-hour") == [("CH", {"hour": "2026-05-04 10:00", "cents": 3000})]


def test_a_payment_after_its_hour_was_closed_goes_to_the_late_orders(driver):
    for number, clock in [("o1", "10:05"), ("o2", "11:30"), ("o3", "10:40")]:
        order(driver, number, app.Order("ann", 100), clock)
        pay(driver, number, clock)
    assert read(driver, "orders-late") == [("CH", app.Order("ann", 100, country="CH", paid=True))]
    assert driver.metrics()["revenue"]["dropped"] == {"late": 1}


def test_an_order_that_cannot_be_read_goes_to_the_dead_letters(driver):
    driver.input_topic("orders", value_serde=serdes.Json()).pipe("o1", {"customer": "ann"}, at("10:05"))
    [letter] = driver.output_topic("orders-failed").read_all()
    headers = dict(letter.headers)
    assert letter.value == b'{"customer":"ann"}'
    assert headers["headrace.error.reason"] == b"undecodable value"
    assert b"missing required field `cents`" in headers["headrace.error.message"]


def test_a_currency_without_a_rate_stops_neither_the_application_nor_the_order(driver):
    order(driver, "o1", app.Order("ann", 100, "USD"), "10:05")
    pay(driver, "o1", "10:06")
    [letter] = driver.output_topic("orders-failed").read_all()
    assert dict(letter.headers)["headrace.error.operator"] == b"in-francs"
    assert read(driver, "orders-paid") == [("o1", app.Order("ann", 100, "USD", country="CH", paid=True))]


def test_a_payment_without_an_order_number_is_dropped_and_counted(driver):
    pay(driver, None, "10:06")
    assert driver.metrics()["settle-outer-other-join"]["dropped"] == {"null key": 1}
