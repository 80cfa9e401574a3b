"""How does a store recognise a write whose reply was lost?
By a request id that no server assigns twice, even across restarts.

An id is a random prefix per process and a counter, so it costs 0.1 µs, and the ids of one process sort by age. It is
not the id that clients receive (`wire/identifiers.py`), of which a batch has one, while each of its writes has its own
request id.
"""

import secrets
from collections.abc import Callable
from itertools import count, repeat
from typing import NewType, cast

REQUEST_ID_BYTES = 16
COUNTER_BYTES = 6

RequestId = NewType("RequestId", bytes)
"""Identifies one call of `Store.mutate` or `Store.transact`, however often the store has to carry it out."""

_PREFIX = secrets.token_bytes(REQUEST_ID_BYTES - COUNTER_BYTES)
"""First bytes of all ids of a process. Of a million processes, two share them with a probability below 1 in 10¹²."""
_FIRST = int.from_bytes(_PREFIX + bytes(COUNTER_BYTES))

new_request_id = cast(Callable[[], RequestId], map(int.to_bytes, count(_FIRST), repeat(REQUEST_ID_BYTES)).__next__)
"""new_request_id() returns an id that no write has had."""
