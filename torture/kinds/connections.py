"""What can clients do with connections alone? Their requests are ordinary: what they do with them is in behaviours.py."""

from torture.kinds.kind import Hostile, Kind, plain
from torture.kinds.needs import LARGE, TABLE, large_key

PIPELINED = 40_000
"""Requests that one connection sends without waiting for replies."""
PIPELINED_BYTES = 16_000_000
"""If so many requests are not longer together."""
STATEMENT_KEYS = 50
"""As many as one may ask for."""
BODY_BYTES = 14_000_000
"""Of which half is sent."""


def small_get() -> Hostile:
    """A GetItem that finds nothing."""
    return plain("GetItem", {"TableName": TABLE, "Key": large_key(99)})


def statement_of_keys() -> Hostile:
    """A statement that reads fifty partitions, none of which is there."""
    keys = " OR ".join([f"pk = 'none-{number}'" for number in range(STATEMENT_KEYS)])
    return plain("ExecuteStatement", {"Statement": f'SELECT * FROM "{TABLE}" WHERE {keys}'})


def large_get() -> Hostile:
    """A GetItem whose reply has 1 MB."""
    return plain("GetItem", {"TableName": TABLE, "Key": large_key()})


def half_put() -> Hostile:
    """A body whose second half never comes, so that nobody reads it."""
    return Hostile("PutItem", b"x" * BODY_BYTES, BODY_BYTES)


KINDS = (
    Kind("pipelined-40000", small_get, ("200",), behaviour="pipeline", clients=1),
    Kind("pipelined-statements-50-keys", statement_of_keys, ("200",), behaviour="pipeline", clients=3),
    Kind("never-reading-100", large_get, (), (LARGE,), behaviour="never read", clients=100),
    Kind("half-bodies-100", half_put, (), behaviour="half body", clients=100),
    Kind("idle-1000-of-400-files", small_get, (), behaviour="idle", clients=1_000, open_files_max=400),
)
