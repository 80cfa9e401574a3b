"""Which CBOR of a request is decoded? That whose tags are those of times, and which has no more lists
and maps than any request needs.

What the library makes of other tags may take a time that the body's length does not show:
a decimal fraction of 0.5 MB took 19 s. Smithy's rpcv2Cbor has tags of times and of numbers that no operation here
takes. 900,000 empty lists in as many bytes took 0.4 s.
"""

import re
from typing import Literal

from hashrange.items.steps import spend
from hashrange.limits import SERVICE_CONTAINERS_MAX

HEADS_AT_ONCE = 1_000
"""Heads that are passed over between two looks at the clock: about 0.1 ms."""
HeadsFault = Literal["tags", "containers"]
_may_be_other_tag = re.compile(rb"[\xc2-\xdb]").search
"""Tags 0 and 1 are times, a byte each. Other tags begin with one of these bytes,
which texts and numbers may have too."""
_CONTAINER_HEADS = bytes(range(0x80, 0xC0))
"""Lists and maps begin with one of these bytes, which texts and numbers may have too."""


def fault_of_heads(body: bytes) -> HeadsFault | None:
    """What keeps a body from being decoded; None: nothing. Reads heads only, and none if that is enough; may give way.

    `tags`: it has a tag that is none of a time, or writes that of a time in more than one byte.
    `containers`: it has more lists and maps than SERVICE_CONTAINERS_MAX.
    """
    containers_max = len(body) - len(body.translate(None, _CONTAINER_HEADS))
    if containers_max <= SERVICE_CONTAINERS_MAX and not _may_be_other_tag(body):
        return None
    place, size, containers = 0, len(body), 0
    while place < size:
        spend(HEADS_AT_ONCE // 8)
        for _ in range(HEADS_AT_ONCE):
            behind = _BEHIND[body[place]]
            if behind >= 0:
                place += behind + 1
            elif behind == _CONTAINER:
                containers += 1
                place += _length_bytes(body[place] & 31) + 1
            elif behind == _OTHER_TAG:
                return "tags"
            else:
                place = _end_of_text(body, place)
            if place >= size:
                break
        if containers > SERVICE_CONTAINERS_MAX:
            return "containers"
    return None


_LONG_TEXT, _OTHER_TAG, _CONTAINER = -1, -2, -3


def _behind(head: int) -> int:
    """How many bytes behind a head belong to it, with those of a short text; or _LONG_TEXT, _OTHER_TAG, _CONTAINER."""
    kind, rest = head >> 5, head & 31
    if kind == 6:
        return 0 if rest < 2 else _OTHER_TAG
    if kind in {4, 5}:
        return _CONTAINER
    if kind in {2, 3} and rest < 24:
        return rest
    return _LONG_TEXT if kind in {2, 3} and 24 <= rest < 28 else _length_bytes(rest)


def _length_bytes(rest: int) -> int:
    """How many bytes behind a head say a number or a length."""
    return 1 << rest - 24 if 24 <= rest < 28 else 0


_BEHIND = tuple(map(_behind, range(256)))


def _end_of_text(body: bytes, place: int) -> int:
    """Where a text, or bytes, ends whose length stands behind its head."""
    begin = place + 1 + (1 << (body[place] & 31) - 24)
    return begin + int.from_bytes(body[place + 1 : begin], "big")
