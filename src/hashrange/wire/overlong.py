"""What need not be looked at in a request that is refused anyway? Most members of the lists and maps that are too long.

Types are checked before constraints, member by member: of a list of 16 MB that holds a hundred times what it may, that would take
seconds. So a list or map that is longer than allowed is cut before its first member is looked at. It stays too long, and so the
request is refused; but what is wrong with the members that are cut is not told (unconfirmed).
"""

from collections.abc import Iterable
from itertools import islice
from typing import Any

from hashrange.items.steps import TOGETHER_MEMBERS, spend, together, walk
from hashrange.limits import MEMBERS_LOOKED_AT, TEXTS_LOOKED_AT
from hashrange.wire.shape import Shape


def cut_overlong(value: Any, shape: Shape, left: int = MEMBERS_LOOKED_AT) -> int:
    """Cut in place what is too long; how many more members may be looked at comes back, of `left`.

    Of a list or map that is too long, one member more than allowed is left at least. Values of wrong types are left alone.
    """
    if not shape.is_cuttable:
        return left
    match shape.kind:
        case "Structure" if isinstance(value, dict):
            for name, inner, _ in shape.members:
                if name in value:
                    left = cut_overlong(value[name], inner, left)
        case "List" if isinstance(value, list):
            kept, left = _looked_at(walk(value), shape, left)
            _free(value, kept)
        case "Map" if isinstance(value, dict):
            # A null among the values is none: it is left out, and so does not make the map too long.
            kept, left = _looked_at((element for element in walk(value.values()) if element is not None), shape, left)
            if kept < len(value):
                members = dict(islice(((key, element) for key, element in value.items() if element is not None), kept))
                _free_map(value)
                value.update(members)
    return left


def _free(value: list[Any], kept: int) -> None:
    """Cut off all but the first `kept`, some at a time: 300,000 maps at once take 20 ms."""
    while len(value) > kept:
        spend(TOGETHER_MEMBERS >> 3)
        del value[max(kept, len(value) - TOGETHER_MEMBERS) :]


def _free_map(value: dict[str, Any]) -> None:
    """Empty it likewise."""
    for keys in together(list(value)):
        list(map(value.pop, keys))


def _looked_at(elements: Iterable[Any], shape: Shape, left: int) -> tuple[int, int]:
    """How many of the elements are to be looked at, and what that leaves; cuts inside these."""
    member, length_max = shape.member, shape.length_max
    assert member is not None
    kept_min = length_max
    if length_max is not None and member.kind == "String":
        kept_min = max(length_max, TEXTS_LOOKED_AT)
    kept = 0
    for element in elements:
        if kept_min is not None and kept > kept_min and left <= 0:
            break
        kept += 1
        left = cut_overlong(element, member, left - 1) if member.is_cuttable else left - 1
    return kept, left
