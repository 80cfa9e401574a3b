"""What is a request called? Request ids: 52 characters of 0-9A-Z, unlike any other that this or another process gives.

A random prefix per process and a counter, so that an id costs a tenth of a microsecond and sorts by age in a log.
Source: service behaviour, operations.md 1.1 (x-amzn-RequestId).
"""

import secrets
from itertools import count

REQUEST_ID_LENGTH = 52
COUNTER_DIGITS = 12

_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
PROCESS_PREFIX = "".join(secrets.choice(_ALPHABET) for _ in range(REQUEST_ID_LENGTH - COUNTER_DIGITS)).encode()
"""The part that all ids of this process share."""

next_number = count(1).__next__
"""The next request's number; `request_id_of` makes it an id."""


def request_id_of(number: int) -> bytes:
    """The id of the request with that number."""
    return b"%b%012d" % (PROCESS_PREFIX, number)
