"""Settings and error handlers."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any, assert_type

from headrace import (
    ErrorHandlerContext,
    ErrorHandlerResponse,
    Pending,
    Record,
    Streams,
    StreamsBuilder,
    StreamsConfig,
    serdes,
    wallclock_timestamp,
)


def tolerant(failed: ErrorHandlerContext) -> ErrorHandlerResponse:
    return "continue" if failed.kind == "processing" else "fail"


def wrapped(name: str, process: Callable[[Record[Any, Any]], None]) -> Callable[[Record[Any, Any]], None]:
    return process


config = StreamsConfig(
    application_id="sales",
    topics_dir="topics",
    commit_interval=timedelta(seconds=1),
    auto_offset_reset="earliest",
    processing_guarantee="at_least_once",
    default_value_serde=serdes.Json(),
    deserialization_exception_handler="dead_letter",
    processing_exception_handler=tolerant,
    production_exception_handler=lambda failed: "fail" if failed.topic else "continue",
    dead_letter_topic="dead",
    sync_state=False,
    statestore_cache_max_bytes=10_485_760,
    app_configs={"shop.currency": "CHF"},
    processor_wrapper=wrapped,
    default_timestamp_extractor=wallclock_timestamp,
)
with Streams(StreamsBuilder().build(), config.replace(state_dir="state")) as app:
    app.process_available()
    app.start()
    assert_type(app.await_termination(timedelta(seconds=1)), bool)
    assert_type(app.explain_pending(), list[Pending])
    assert_type(app.metrics(), dict[str, dict[str, Any]])
    app.stop()
assert_type(StreamsConfig.from_mapping({"application.id": "sales"}), StreamsConfig)
