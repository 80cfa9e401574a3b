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

HeadsFault = Literal["tags", "containers", "keys"]
_BYTES, _TEXT, _LIST, _MAP, _TAG = 2, 3, 4, 5, 6
"""The first three bits of a head."""
_BREAK = 0xFF
_UNTIL_BREAK = -2
"""Members that are to come of what ends with a break. In maps, the number of these is even before each key."""


def fault_of_heads(body: bytes) -> HeadsFault | None:
    """What keeps a body from being decoded; None: nothing. Reads heads only, in 0.4 µs each; may give way.

    `tags`: it has a tag that is none of a time, or writes that of a time in more than one byte.
    `containers`: it has more lists, maps, texts in pieces and bytes, which no operation takes,
    than SERVICE_CONTAINERS_MAX.
    `keys`: a map has a key that is no text.
    """
    place = containers = is_map = 0
    left = _UNTIL_BREAK
    outer: list[tuple[int, int]] = []
    while place < len(body):
        spend(1)
        head = body[place]
        kind, rest = head >> 5, head & 31
        place += 1
        if is_map & ~left and kind != _TEXT and head != _BREAK:
            return "keys"
        if kind == _TAG and rest > 1:
            return "tags"
        number = rest
        if 24 <= rest < 28:  # the number, a length or how many members there are, stands behind the head
            number = int.from_bytes(body[place : (place := place + (1 << rest - 24))], "big")
        left -= kind != _TAG  # a tag belongs to the member behind it
        if head == _BREAK and outer and left < -1 and not is_map & ~left:
            left, is_map = outer.pop()
        elif _LIST <= kind <= _MAP or (rest == 31 and head != _BREAK):
            containers += 1
            outer.append((left, is_map))
            is_map = int(kind == _MAP)
            left = _UNTIL_BREAK if rest == 31 else number << is_map
        elif _BYTES <= kind <= _TEXT:
            containers += kind == _BYTES
            place += number
        if containers > SERVICE_CONTAINERS_MAX:
            return "containers"
        while left == 0:
            left, is_map = outer.pop()
    return None
