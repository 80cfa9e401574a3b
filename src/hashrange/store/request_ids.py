"""By what is a write known, so that its outcome can be asked for? By a request id, unlike any other that a server gives, before or after a restart.

A random prefix per process and a counter, so that an id costs 0.1 µs and sorts by age among those of its process. It is not the
id that clients hear (`wire/identifiers.py`): a batch has one such id, and each of its writes its own request id.
"""

import secrets
from collections.abc import Callable
from itertools import count, repeat
from typing import NewType, cast

REQUEST_ID_BYTES = 16
COUNTER_BYTES = 6

RequestId = NewType("RequestId", bytes)
"""Names one call of `Store.mutate` or `Store.transact`, however often the store has to carry it out."""

_PREFIX = secrets.token_bytes(REQUEST_ID_BYTES - COUNTER_BYTES)
"""The part that all ids of this process share: two of a million processes have the same once in a million million times."""
_FIRST = int.from_bytes(_PREFIX + bytes(COUNTER_BYTES))

new_request_id = cast(Callable[[], RequestId], map(int.to_bytes, count(_FIRST), repeat(REQUEST_ID_BYTES)).__next__)
"""new_request_id() → an id that no write has had."""
