"""Which connections harm a server, with ordinary requests?
The requests are here, the use of the connections in stalls/behaviours.py.
"""

from torture.kinds.crowds import inflated
from torture.kinds.expressions import scan_filter
from torture.kinds.kind import Conditions, Hostile, Kind, plain
from torture.kinds.needs import LARGE, TABLE, large_key

PIPELINED = 40_000
"""Number of requests that one connection sends without waiting for replies."""
PIPELINED_BYTES = 16_000_000
"""Upper bound of the bytes of all pipelined requests of a connection."""
STATEMENT_KEYS = 50
"""Number of partitions in a statement: the most that one SELECT may name."""
BODY_BYTES = 14_000_000
"""Bytes of a body of which only half is sent."""


def small_get() -> Hostile:
    """A GetItem that finds nothing."""
    return plain("GetItem", {"TableName": TABLE, "Key": large_key(99)})


def statement_of_keys() -> Hostile:
    """A statement that reads fifty partitions, none of which is there."""
    keys = " OR ".join([f"pk = 'none-{number}'" for number in range(STATEMENT_KEYS)])
    return plain("ExecuteStatement", {"Statement": f'SELECT * FROM "{TABLE}" WHERE {keys}'})


def large_get() -> Hostile:
    """A GetItem whose reply is 1 MB long."""
    return plain("GetItem", {"TableName": TABLE, "Key": large_key()})


def half_put() -> Hostile:
    """A PutItem whose body's second half is never sent."""
    return Hostile("PutItem", b"x" * BODY_BYTES, BODY_BYTES)


KINDS = (
    Kind("pipelined-40000", small_get, ("200",), behaviour="pipeline", clients=1),
    Kind("pipelined-statements-50-keys", statement_of_keys, ("200",), behaviour="pipeline", clients=3),
    Kind("never-reading-100", large_get, (), (LARGE,), behaviour="never read", clients=100),
    Kind("leaving-scans-20", scan_filter, (), (LARGE,), behaviour="leave", clients=20),
    Kind("leaving-inflated-250", inflated, (), behaviour="leave", clients=250),
    Kind("arriving-500", small_get, ("200",), behaviour="arrive", clients=500),
    Kind("killed-14000", small_get, (), behaviour="be killed", clients=14_000),
    Kind("half-bodies-100", half_put, (), behaviour="half body", clients=100),
    Kind(
        "idle-1000-of-400-files", small_get, (), behaviour="idle", clients=1_000, conditions=Conditions(open_files=400)
    ),
)
