"""A small shop: which orders are paid, which are not, and what each country earns per hour."""

import os
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import headrace as hr
from headrace import serdes


@dataclass(frozen=True)
class Customer:
    name: str
    country: str


@dataclass(frozen=True)
class Order:
    customer: str
    cents: int
    currency: str = "CHF"
    country: str = "unknown"
    paid: bool = False


def with_country(order: Order, customer: Customer | None) -> Order:
    return replace(order, country=customer.country) if customer else order


builder = hr.StreamsBuilder()
orders = builder.stream("orders", value_serde=serdes.Json(Order), name="orders")
customers = builder.table("customers", value_serde=serdes.Json(Customer), store="customers")
located = orders.left_join(
    customers, with_country, foreign_key=lambda number, order: order.customer, name="with-country"
)
located.to("orders-located")


@dataclass(frozen=True)
class Payment:
    method: str


def settle(order: Order, payment: Payment | None) -> Order:
    return replace(order, paid=payment is not None)


payments = builder.stream("payments", value_serde=serdes.Json(Payment), name="payments")
within_an_hour = hr.JoinWindows.of(timedelta(hours=1), before=timedelta(0), grace=timedelta(minutes=10))
settled = located.left_join(payments, settle, within=within_an_hour, store="waiting", name="settle")

branches = settled.split().branch(lambda number, order: order.paid, name="paid").default(name="unpaid")
branches["paid"].to("orders-paid")
branches["unpaid"].to("orders-unpaid")


FRANCS = {"CHF": 1.0, "EUR": 0.95}


def in_francs(order: Order) -> Order:
    return replace(order, cents=round(order.cents * FRANCS[order.currency]), currency="CHF")


def as_report(windowed: hr.Windowed[str], cents: int) -> tuple[str, dict[str, str | int]]:
    hour = datetime.fromtimestamp(windowed.window.start_ms / 1000, UTC)
    return windowed.key, {"hour": f"{hour:%Y-%m-%d %H:%M}", "cents": cents}


hours = hr.TimeWindows.of(timedelta(hours=1), grace=timedelta(minutes=15))
revenue = (
    branches["paid"]
    .map_values(in_francs, name="in-francs")
    .group_by(lambda number, order: order.country, name="by-country")
    .windowed_by(hours, late_to="orders-late")
    .aggregate(int, lambda country, order, cents: cents + order.cents, store="revenue", name="revenue")
)
final = revenue.suppress(hr.Suppressed.until_window_closes(), name="final-revenue")
final.to_stream().map(as_report, name="report").to("revenue-per-hour")


topology = builder.build()
config = hr.StreamsConfig(application_id="orders", topics_dir="topics", state_dir="state")

config = config.replace(
    deserialization_exception_handler="dead_letter",
    processing_exception_handler="dead_letter",
    dead_letter_topic="orders-failed",
)

if "BOOTSTRAP_SERVERS" in os.environ:
    config = config.replace(
        topics_dir=None,
        bootstrap_servers=os.environ["BOOTSTRAP_SERVERS"],
        state_dir=os.environ["STATE_DIR"],
    )

if __name__ == "__main__":
    with hr.Streams(topology, config) as app:
        app.start()
        app.await_termination()
