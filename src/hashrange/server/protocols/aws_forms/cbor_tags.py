"""Which tags may CBOR of a request have? Only those of times: what the library makes of others may take a time that the body's length does not show.

A decimal fraction of 0.5 MB took 19 s to read. Smithy's rpcv2Cbor has tags of times and of numbers that no operation here takes.
"""

import re

from hashrange.items.steps import spend

HEADS_AT_ONCE = 1_000
"""Heads that are passed over between two looks at the clock: about 0.1 ms."""
_may_be_other_tag = re.compile(rb"[\xc2-\xdb]").search
"""Tags 0 and 1 are times, a byte each. Other tags begin with one of these bytes, which texts and numbers may have too."""


def has_other_tags(body: bytes) -> bool:
    """True if the body has a tag that is none of a time, or writes that of a time in more than one byte. Reads heads only; may give way."""
    if not _may_be_other_tag(body):
        return False
    place, size = 0, len(body)
    while place < size:
        spend(HEADS_AT_ONCE // 8)
        for _ in range(HEADS_AT_ONCE):
            behind = _BEHIND[body[place]]
            if behind >= 0:
                place += behind + 1
            elif behind == _OTHER_TAG:
                return True
            else:
                place = _end_of_text(body, place)
            if place >= size:
                break
    return False


_LONG_TEXT, _OTHER_TAG = -1, -2


def _behind(head: int) -> int:
    """How many bytes behind a head belong to it, with those of a short text; _LONG_TEXT or _OTHER_TAG."""
    kind, rest = head >> 5, head & 31
    if kind == 6:
        return 0 if rest < 2 else _OTHER_TAG
    if kind in {2, 3} and rest < 24:
        return rest
    if not 24 <= rest < 28:
        return 0
    return _LONG_TEXT if kind in {2, 3} else 1 << rest - 24


_BEHIND = tuple(map(_behind, range(256)))


def _end_of_text(body: bytes, place: int) -> int:
    """Where a text, or bytes, ends whose length stands behind its head."""
    begin = place + 1 + (1 << (body[place] & 31) - 24)
    return begin + int.from_bytes(body[place + 1 : begin], "big")
