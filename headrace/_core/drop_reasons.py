"""The reasons for which records are dropped, as metrics, logs, error handlers and dead letters name them."""

from __future__ import annotations

from enum import StrEnum


class DropReason(StrEnum):
    """Why a record is dropped. `docs/errors.md` says where each reason is counted."""

    LATE = "late"
    IN_NO_WINDOW = "in no window"
    BEFORE_FIRST_WINDOW = "before the first window"
    BEFORE_HISTORY = "older than the history of the versioned store"
    NULL_KEY = "null key"
    NULL_VALUE = "null value"
    NULL_JOIN_KEY = "null join key"
    NULL_FOREIGN_KEY = "null foreign key"
    NO_BRANCH = "no branch"
    NO_PARTITION = "no partition"

    UNDECODABLE_KEY = "undecodable key"
    UNDECODABLE_VALUE = "undecodable value"
    NEGATIVE_TIMESTAMP = "negative timestamp"
    TIMESTAMP_AHEAD = "timestamp too far ahead"
    PROCESSING_ERROR = "processing error"
    PUNCTUATION_ERROR = "punctuation error"
    ROUTING_ERROR = "routing error"
    UNSERIALIZABLE_KEY = "unserializable key"
    UNSERIALIZABLE_VALUE = "unserializable value"

    RECORD_TOO_LARGE = "record too large"
    KEY_MISSING = "key missing"
    TIMESTAMP_OUT_OF_RANGE = "timestamp out of range"
