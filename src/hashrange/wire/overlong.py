"""What need not be looked at in a request that is refused anyway? Most members of the lists and maps that are too long.

Types are checked before constraints, member by member: of a list of 16 MB that holds a hundred times what it may, that would take
seconds. So a list or map that is longer than allowed is cut before its first member is looked at. It stays too long, and so the
request is refused; but what is wrong with the members that are cut is not told (unconfirmed).
"""

from itertools import islice
from typing import Any

from hashrange.limits import MEMBERS_LOOKED_AT
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
            kept, left = _looked_at(value, shape, left)
            del value[kept:]
        case "Map" if isinstance(value, dict):
            # A null among the values is none: it is left out, and so does not make the map too long.
            members = {key: element for key, element in value.items() if element is not None}
            kept, left = _looked_at(list(members.values()), shape, left)
            if kept < len(members):
                value.clear()
                value.update(islice(members.items(), kept))
    return left


def _looked_at(elements: list[Any], shape: Shape, left: int) -> tuple[int, int]:
    """How many of the elements are to be looked at, and what that leaves; cuts inside these."""
    member, length_max = shape.member, shape.length_max
    assert member is not None
    if not member.is_cuttable:
        kept = len(elements) if length_max is None else min(len(elements), max(length_max + 1, left))
        return kept, left - kept
    for kept, element in enumerate(elements):
        if length_max is not None and kept > length_max and left <= 0:
            return kept, left
        left = cut_overlong(element, member, left - 1)
    return len(elements), left
