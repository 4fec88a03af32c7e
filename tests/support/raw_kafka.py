"""Writes records that our Kafka client cannot write, such as those with timestamp 0, by a hand-made produce request."""

from __future__ import annotations

import socket
import struct
from functools import cache


def append(broker, topic, partition, records):
    """Appends (key, value, timestamp_ms) as one batch.

    Raises:
        ValueError: with the error code of a broker that refuses it.
    """
    batch = _batch(records)
    body = struct.pack(">hhi", -1, -1, 30_000)  # no transaction, acks of all, timeout
    body += struct.pack(">i", 1) + _text(topic) + struct.pack(">iii", 1, partition, len(batch)) + batch
    header = struct.pack(">hhi", 0, 3, 1) + _text("tests")
    host, port = broker.bootstrap_servers.split(":")
    with socket.create_connection((host, int(port)), timeout=30) as connection:
        connection.sendall(struct.pack(">i", len(header + body)) + header + body)
        answer = connection.makefile("rb")
        (size,) = struct.unpack(">i", answer.read(4))
        response = answer.read(size)
    (code,) = struct.unpack_from(">h", response, 4 + 4 + 2 + len(topic.encode()) + 4 + 4)
    if code:
        message = f"the broker answers with error {code}"
        raise ValueError(message)


def _batch(records):
    times = [timestamp_ms for _, _, timestamp_ms in records]
    rows = b"".join(_record(number, key, value, at - times[0]) for number, (key, value, at) in enumerate(records))
    last = len(records) - 1
    covered = struct.pack(">hiqqqhii", 0, last, times[0], max(times), -1, -1, -1, len(records)) + rows
    return struct.pack(">qiib", 0, 4 + 1 + 4 + len(covered), -1, 2) + struct.pack(">I", _crc32c(covered)) + covered


def _record(number, key, value, delta):
    fields = b"".join(_varint(-1) if data is None else _varint(len(data)) + data for data in (key, value))
    body = b"\0" + _varint(delta) + _varint(number) + fields + _varint(0)
    return _varint(len(body)) + body


def _varint(number):
    left = (number << 1) ^ (number >> 63)
    encoded = bytearray()
    while left > 0x7F:
        encoded.append(left & 0x7F | 0x80)
        left >>= 7
    return bytes([*encoded, left])


def _text(text):
    return struct.pack(">h", len(text.encode())) + text.encode()


def _crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _table()[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF


@cache
def _table():
    table = []
    for number in range(256):
        for _ in range(8):
            number = number >> 1 ^ (0x82F63B78 if number & 1 else 0)
        table.append(number)
    return table
