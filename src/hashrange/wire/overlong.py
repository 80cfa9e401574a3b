"""Which members of a refused request are never inspected? Most members of lists and maps that are far too long.

JSON types are checked before constraints, member by member: for a list of 16 MB, a hundred times as long as allowed,
this check would take seconds. So, if a request has more than MEMBERS_INSPECTED_MAX members, a list or map that is too
long is cut before its first member is inspected. The list or map is still too long then, so the request is refused;
faults of the members cut off are not reported (unconfirmed).
"""

from collections.abc import Iterable
from itertools import islice
from typing import Any

from hashrange.items.steps import TOGETHER_MEMBERS, batches, spend, walk
from hashrange.limits import MEMBERS_INSPECTED_MAX, STRINGS_KEPT_MIN
from hashrange.wire.shape import Shape


def cut_overlong(value: Any, shape: Shape, left: int = MEMBERS_INSPECTED_MAX) -> int:
    """Cut lists and maps that are too long, in place. Values of wrong types are not changed.

    `left`: members that may still be inspected in the whole request; returns this number less the members kept here. A
    list or map that is too long is cut only once `left` is used up, and keeps at least one member more than allowed.
    """
    if not shape.is_cuttable:
        return left
    match shape.kind:
        case "Structure" if isinstance(value, dict):
            for name, inner, _ in shape.members:
                if name in value:
                    left = cut_overlong(value[name], inner, left)
        case "List" if isinstance(value, list):
            kept, left = _cut_inside(walk(value), shape, left)
            _free(value, kept)
        case "Map" if isinstance(value, dict):
            # Nulls are not counted: `normalise` leaves them out, so they do not make the map too long.
            kept, left = _cut_inside((element for element in walk(value.values()) if element is not None), shape, left)
            if kept < len(value):
                members = dict(islice(((key, element) for key, element in value.items() if element is not None), kept))
                _free_map(value)
                value.update(members)
    return left


def _free(value: list[Any], kept: int) -> None:
    """Delete all but the first `kept` members, piece by piece: freeing 300,000 maps at once takes 20 ms."""
    while len(value) > kept:
        spend(TOGETHER_MEMBERS >> 3)
        del value[max(kept, len(value) - TOGETHER_MEMBERS) :]


def _free_map(value: dict[str, Any]) -> None:
    """Empty a map piece by piece, as `_free` does with a list."""
    for keys in batches(list(value)):
        list(map(value.pop, keys))


def _cut_inside(elements: Iterable[Any], shape: Shape, left: int) -> tuple[int, int]:
    """Count the elements of a list or map that are to be kept, and cut the lists and maps inside them.

    Returns this number, and `left`, the members that may still be inspected in the whole request, less those kept.
    """
    member, length_max = shape.member, shape.length_max
    assert member is not None
    kept_min = length_max
    if length_max is not None and member.kind == "String":
        kept_min = max(length_max, STRINGS_KEPT_MIN)
    kept = 0
    for element in elements:
        if kept_min is not None and kept > kept_min and left <= 0:
            break
        kept += 1
        left = cut_overlong(element, member, left - 1) if member.is_cuttable else left - 1
    return kept, left
