"""Misspelt settings, and values that they do not take."""

from __future__ import annotations

from headrace import ErrorHandlerContext, StreamsConfig


def wrong(failed: ErrorHandlerContext) -> str:
    return "ignore"


StreamsConfig(application_id="sales", state_dri="s")  # Unexpected keyword argument "state_dri" | No parameter named
StreamsConfig(application_id="sales", sync_state="false")  # "sync_state" to "StreamsConfig" has | "Literal['false']"
StreamsConfig(application_id="sales", auto_offset_reset="last")  # "auto_offset_reset" to "Stream | "Literal['last']"
StreamsConfig(application_id="sales", processing_guarantee="once")  # "processing_guarantee" to | "Literal['once']"
StreamsConfig(application_id="sales", processing_exception_handler="ignore")  # "processing_ex | "Literal['ignore']"
StreamsConfig(application_id="sales", processing_exception_handler=wrong)  # expected "Literal['fail' | "str"
StreamsConfig("sales")  # Too many positional arguments for "StreamsConfig" | Expected 0 positional arguments
