"""Which CBOR of a request is decoded? That whose tags are those of times, whose maps have texts as keys,
and which has no more lists and maps than any request needs.

What the library makes of other tags may take a time that the body's length does not show:
a decimal fraction of 0.5 MB took 19 s. Smithy's rpcv2Cbor has tags of times and of numbers that no operation here
takes. Its keys are texts: 25,000 lists of numbers with equal hashes, as the keys of one map, took 6 s.
900,000 empty lists in as many bytes took 0.4 s,
and as many pieces of one byte string 84 ms in one step.
"""

from typing import Literal

from hashrange.items.steps import spend
from hashrange.limits import SERVICE_CONTAINERS_MAX

HEADS_AT_ONCE = 500
"""Heads that are passed over between two looks at the clock: about 0.1 ms."""
HeadsFault = Literal["tags", "containers", "members"]
_BYTES, _TEXT, _MAP = 2, 3, 5
"""The first three bits of a head."""
_BREAK = 0xFF
_UNTIL_BREAK = -2
"""Members that are to come of what ends with a break. In maps, the number of these is even before each key."""
_PIECES_LEAST = -(2**62)
"""Below this are the members to come of bytes in more than SERVICE_CONTAINERS_MAX pieces."""


def fault_of_heads(body: bytes) -> HeadsFault | None:
    """What keeps a body from being decoded; None: nothing. Reads heads only, in 0.2 µs each; may give way.

    `tags`: it has a tag that is none of a time, or writes that of a time in more than one byte.
    `containers`: it has more lists and maps than SERVICE_CONTAINERS_MAX.
    `members`: a map has a key that is no text, or bytes, which no operation takes, are in as many pieces.
    """
    place, size, containers = 0, len(body), 0
    left, is_map = _UNTIL_BREAK, 0
    outer: list[tuple[int, int]] = []
    while place < size:
        spend(HEADS_AT_ONCE // 4)
        for _ in range(HEADS_AT_ONCE):
            head = body[place]
            if is_map & ~left and head >> 5 != _TEXT and head != _BREAK:
                return "members"
            behind = _BEHIND[head]
            if behind >= 0:
                place += behind + 1
                left -= 1
            elif behind == _OTHER_TAG:
                return "tags"
            else:
                containers += behind == _CONTAINER
                place, left, is_map = _behind_long(body, place, left, is_map, outer)
            while left == 0:
                left, is_map = outer.pop()
            if place >= size:
                break
        if max(containers, len(outer)) > SERVICE_CONTAINERS_MAX:
            return "containers"
        if left < _PIECES_LEAST:
            return "members"
    return None


def _behind_long(body: bytes, place: int, left: int, is_map: int, outer: list[tuple[int, int]]) -> tuple[int, int, int]:
    """Place, members to come, and whether they are those of a map (1 or 0), behind a head that says how long something
    is, or ends it. `outer`: members to come of what is around, which a list, a map, or a text in pieces is added to.
    """
    head, behind = body[place], _BEHIND[body[place]]
    end, number = _number_at(body, place)
    if behind == _TIME_TAG:  # belongs to the member behind it
        return end, left, is_map
    if behind == _LONG_TEXT:
        return end + number, left - 1, is_map
    if head == _BREAK:
        ends = left < 0 and outer and not is_map & left
        return (end, *outer.pop()) if ends else (end, left - 1, is_map)
    outer.append((left - 1, is_map))
    is_map = int(head >> 5 == _MAP)
    if head & 31 != 31:
        return end, number << is_map, is_map
    return end, _PIECES_LEAST + SERVICE_CONTAINERS_MAX if head >> 5 == _BYTES else _UNTIL_BREAK, is_map


_LONG_TEXT, _TIME_TAG, _OTHER_TAG, _CONTAINER, _PIECES = -1, -2, -3, -4, -5


def _behind(head: int) -> int:
    """How many bytes behind a head belong to it, with those of a short text; or what it begins.
    _PIECES: a text, or bytes, in pieces, or the break at the end of something.
    """
    kind, rest = head >> 5, head & 31
    if kind == 6:
        return _TIME_TAG if rest < 2 else _OTHER_TAG
    if kind in {4, 5}:
        return _CONTAINER
    if rest == 31:
        return _PIECES
    if kind in {2, 3}:
        return rest if rest < 24 else _LONG_TEXT
    return _length_bytes(rest)


def _length_bytes(rest: int) -> int:
    """How many bytes behind a head say a number or a length."""
    return 1 << rest - 24 if 24 <= rest < 28 else 0


_BEHIND = tuple(map(_behind, range(256)))


def _number_at(body: bytes, place: int) -> tuple[int, int]:
    """Where a head ends, and the number that it says: a length, or how many members there are."""
    rest = body[place] & 31
    end = place + 1 + _length_bytes(rest)
    return end, rest if rest < 24 else int.from_bytes(body[place + 1 : end], "big")
