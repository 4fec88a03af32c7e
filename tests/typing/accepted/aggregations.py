"""Aggregations of a grouped stream, with and without windows, and of several."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import assert_type

from headrace import (
    CogroupedKStream,
    EmitStrategy,
    KStream,
    KTable,
    SessionWindowedCogroupedKStream,
    SessionWindowedKStream,
    SessionWindows,
    SlidingWindows,
    Stores,
    StreamsBuilder,
    Suppressed,
    TimeWindowedCogroupedKStream,
    TimeWindowedKStream,
    TimeWindows,
    UnlimitedWindows,
    Window,
    Windowed,
    Windows,
    serdes,
)
from tests.typing.model import Customer, Sale

builder = StreamsBuilder()
minute = timedelta(minutes=1)
sales = builder.stream("sales", value_serde=serdes.Json(Sale)).group_by_key()
customers = builder.stream("customers", value_serde=serdes.Json(Customer)).group_by_key()


def total(shop: str, sale: Sale, cents: int) -> int:
    return cents + sale.cents


def both(shop: str, left: int, right: int) -> int:
    return left + right


# Without windows
assert_type(sales.count(store="counts"), KTable[str, int])
assert_type(sales.reduce(lambda best, sale: best if best.cents > sale.cents else sale), KTable[str, Sale])
assert_type(sales.aggregate(int, total, value_serde=serdes.Long()), KTable[str, int])
assert_type(sales.aggregate(lambda: 0, lambda shop, sale, cents: cents + sale.cents), KTable[str, int])
assert_type(sales.aggregate(int, lambda shop, sale, cents: cents if sale.cents else None), KTable[str, int])
assert_type(sales.count().to_stream(), KStream[str, int])


@dataclass(frozen=True)
class Shifts(Windows):
    """Windows of one's own."""

    first_ms: int
    size_ms: int = 10
    grace: timedelta = minute

    def windows_for(self, timestamp_ms: int) -> list[Window]:
        return [Window(self.first_ms, self.first_ms + 10)]


assert_type(sales.windowed_by(Shifts(0)), TimeWindowedKStream[str, Sale])
assert_type(sales.windowed_by(Shifts(0)).count(), KTable[Windowed[str], int])
assert_type(sales.cogroup(total).windowed_by(Shifts(0)), TimeWindowedCogroupedKStream[str, int])
assert_type(Shifts(0).windows_for(5), list[Window])
assert_type(Shifts(0).window_from(5), Window)
assert_type(TimeWindows.of(minute).windows_for(5), list[Window])
assert_type(serdes.WindowedKey(serdes.String(), Shifts(0)), serdes.WindowedKey[str])

# Time windows
minutes = sales.windowed_by(TimeWindows.of(minute, grace=minute), late_to="late")
assert_type(minutes, TimeWindowedKStream[str, Sale])
assert_type(sales.windowed_by(SlidingWindows.of(minute)), TimeWindowedKStream[str, Sale])
assert_type(sales.windowed_by(UnlimitedWindows.starting_at(0)), TimeWindowedKStream[str, Sale])
assert_type(minutes.emit_strategy(EmitStrategy.on_window_close()), TimeWindowedKStream[str, Sale])
hour = Stores.window("minutes", retention=timedelta(hours=1), window_size=minute)
assert_type(minutes.count(store=hour), KTable[Windowed[str], int])
assert_type(minutes.reduce(lambda best, sale: sale, value_serde=serdes.Json(Sale)), KTable[Windowed[str], Sale])
assert_type(minutes.aggregate(int, total, store="totals"), KTable[Windowed[str], int])
final = minutes.count().suppress(Suppressed.until_window_closes()).to_stream()
assert_type(final.map(lambda windowed, count: (windowed.key, windowed.window.start_ms)), KStream[str, int])
final.to("out", key_serde=serdes.WindowedKey(serdes.String(), minute), value_serde=serdes.Long())

assert_type(TimeWindows.of(minute).starts_for(70_000), range)
assert_type(UnlimitedWindows.starting_at(0).starts_for(70_000), range)

# Sessions
sessions = sales.windowed_by(SessionWindows.of(minute))
assert_type(sessions, SessionWindowedKStream[str, Sale])
assert_type(sessions.emit_strategy(EmitStrategy.on_window_update()), SessionWindowedKStream[str, Sale])
assert_type(sessions.count(store=Stores.session("s", retention=minute)), KTable[Windowed[str], int])
assert_type(sessions.reduce(lambda best, sale: best), KTable[Windowed[str], Sale])
assert_type(sessions.aggregate(int, total, both, value_serde=serdes.Long()), KTable[Windowed[str], int])
sessions.count().to_stream().to("out", key_serde=serdes.SessionWindowedKey(serdes.String()))

# Cogroups
cogrouped = sales.cogroup(total).cogroup(customers, lambda shop, customer, cents: cents + customer.country)
assert_type(cogrouped, CogroupedKStream[str, int])
assert_type(cogrouped.aggregate(int, store="both", value_serde=serdes.Long()), KTable[str, int])
assert_type(cogrouped.windowed_by(TimeWindows.of(minute)), TimeWindowedCogroupedKStream[str, int])
assert_type(cogrouped.windowed_by(TimeWindows.of(minute)).aggregate(int, store=hour), KTable[Windowed[str], int])
assert_type(cogrouped.windowed_by(SessionWindows.of(minute)), SessionWindowedCogroupedKStream[str, int])
assert_type(cogrouped.windowed_by(SessionWindows.of(minute)).aggregate(int, both), KTable[Windowed[str], int])
