"""Does one node of Cassandra answer, and what? Asks it with a query in its native protocol, version 4.

A driver would find the other nodes and ask those too; here the question is what this one says. Of replies, no more is
decoded than a count. Source: Cassandra's native_protocol_v4.spec.
"""

import socket
import struct
from typing import Literal

from hashrange.errors import HashrangeError

ANSWER_SECONDS = 2.0
"""A node that does not answer for this long counts as silent: it may be paused, or wait for one that is."""
_VERSION = 4
_ERROR, _STARTUP, _QUERY = 0x00, 0x01, 0x07
"""Opcodes."""
_HEAD = struct.Struct(">BBhBi")
"""Version, flags, stream, opcode, length of the body in bytes."""
CqlLevel = Literal["ONE", "ALL"]
_LEVELS: dict[CqlLevel, int] = {"ONE": 0x0001, "ALL": 0x0005}


class CqlRefusal(HashrangeError):
    """A node refuses a query; the message is the node's own."""


def run_query(address: str, port: int, query: str, level: CqlLevel = "ONE") -> bytes:
    """Let a node execute a query at a consistency level; returns the body of its reply.

    Raises CqlRefusal, and OSError if the node does not answer.
    """
    with socket.create_connection((address, port), timeout=ANSWER_SECONDS) as connection:
        _exchange(connection, _STARTUP, struct.pack(">H", 1) + _string(b"CQL_VERSION") + _string(b"3.0.0"))
        text = query.encode()
        return _exchange(
            connection, _QUERY, struct.pack(">i", len(text)) + text + struct.pack(">HB", _LEVELS[level], 0)
        )


def count_in(reply: bytes) -> int:
    """The number that `SELECT count(*)` has found: the only value of the only row, which ends the reply."""
    return int.from_bytes(reply[-8:], "big")


def _exchange(connection: socket.socket, opcode: int, body: bytes) -> bytes:
    connection.sendall(_HEAD.pack(_VERSION, 0, 0, opcode, len(body)) + body)
    _, _, _, reply, length = _HEAD.unpack(_read(connection, _HEAD.size))
    told = _read(connection, length)
    if reply == _ERROR:
        raise CqlRefusal(told[6:].decode(errors="replace"))  # behind the code and the length of the message
    return told


def _read(connection: socket.socket, size_bytes: int) -> bytes:
    found = b""
    while len(found) < size_bytes:
        piece = connection.recv(size_bytes - len(found))
        if not piece:
            raise ConnectionError("the node has closed the connection")
        found += piece
    return found


def _string(text: bytes) -> bytes:
    return struct.pack(">H", len(text)) + text
