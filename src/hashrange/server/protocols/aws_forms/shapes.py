"""How does a request's form become a struct? What each form lacks is made up for by the types of the struct:
JSON has no times, the Query form no lists and numbers.
"""

import math
import re
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, NoReturn, TypeVar

import msgspec

from hashrange.aws_services.operation import MemberFault, MemberFaultKind
from hashrange.errors import Abandoned, HashrangeError
from hashrange.items.steps import sort, spend, walk
from hashrange.messages import aws_forms as sentences
from hashrange.wire.piecewise import empty, free
from hashrange.wire.shape import Shape
from hashrange.wire.wide_maps import convert_in_pieces

StructT = TypeVar("StructT", bound=msgspec.Struct)
QUERY_LEVELS_MAX = 12
"""Levels of nested members in the Query form; no operation has as many."""
_find_place = re.compile(r" - at `([^`]*)`$").search
_missing = re.compile(r"Object missing required field `([^`]+)`").match


class MembersWrong(HashrangeError):
    """The members of a request do not fit the operation."""

    def __init__(self, fault: MemberFault) -> None:
        super().__init__(fault.detail)
        self.fault = fault


_LEAF = Shape("Any")
_NO_JSON = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def struct_of(node: Any, struct: type[StructT], *, strict: bool, has_many: bool = False) -> StructT:
    """The struct that plain values make. `strict` False: texts become numbers and truth values.
    `has_many`: there are very many values, so this gives way. Raises MembersWrong.
    """
    try:
        if strict and has_many:
            with suppress(msgspec.ValidationError):  # which is told below, with its place
                return convert_in_pieces(node, struct)
        return msgspec.convert(node, struct, strict=strict)
    except msgspec.ValidationError as error:
        fault = fault_of(str(error))
        raise MembersWrong(fault._replace(value=_value_at(node, fault.path))) from None
    except (RecursionError, ArithmeticError, ValueError, TypeError):  # of values that only CBOR's rare tags make
        _fail("type", "", sentences.A_STRUCTURE)


def fault_of(text: str) -> MemberFault:
    """What msgspec's message says."""
    found = _find_place(text)
    path = "" if found is None else _path(found[1])
    detail = text if found is None else text[: found.start()]
    missing = _missing(detail)
    if missing is not None:
        return MemberFault("missing", f"{path}.{missing[1]}" if path else missing[1], detail)
    kind: MemberFaultKind = "type" if detail.startswith("Expected `") and ", got `" in detail else "value"
    return MemberFault(kind, path, detail)


def _value_at(node: Any, path: str) -> str:
    """The number or text at a path; empty if there is none."""
    for part in path.split("."):
        if isinstance(node, dict):
            node = node.get(part)
        elif isinstance(node, list) and part.isdecimal() and 0 < int(part) <= len(node):
            node = node[int(part) - 1]
        else:
            return ""
    return str(node)[:100] if isinstance(node, str | int | float) and not isinstance(node, bool) else ""


def _path(place: str) -> str:
    """`$.MetricData[0].Value` → `MetricData.1.Value`."""
    text = re.sub(r"\[(\d+)\]", lambda match: f".{int(match[1]) + 1}", place)
    return re.sub(r"\[\.\.\.\]", "", text).removeprefix("$").removeprefix(".")


def _fail(kind: MemberFaultKind, path: str, detail: str) -> NoReturn:
    raise MembersWrong(MemberFault(kind, path, detail))


# --- JSON and CBOR ---------------------------------------------------------------------------------


def known_members(node: Any, shape: Shape) -> Any:
    """The node without members that its type does not have, each of which msgspec would pass over in one call; may give
    way. What is left out is freed in pieces.
    """
    if shape.inner is not None and isinstance(node, dict):
        known: dict[str, Any] = {}
        for name, one in walk(node.items()):
            if name in shape.inner:
                known[name] = known_members(one, shape.inner[name])
            elif isinstance(one, dict | list):
                free(one)
        empty(node)
        return known
    if shape.kind == "List" and shape.member is not None and isinstance(node, list):
        return [known_members(one, shape.member) for one in walk(node)]
    return node


def with_scalars(node: Any, shape: Shape, path: str = "") -> Any:
    """The node, with numbers in places of times replaced by times, and integers and texts in places of
    floats by floats; may give way.

    Raises MembersWrong.
    """
    if not shape.has_scalar or node is None:
        return node
    if shape.kind == "Double":
        if type(node) is int and -(2**63) <= node < 2**63:  # msgspec would convert all of a list in one call
            return float(node)
        return _NO_JSON.get(node, node) if isinstance(node, str) else node
    if shape.kind == "Time":
        return _in_utc(node, path) if isinstance(node, datetime) else _time(node, path)
    if shape.kind == "List" and isinstance(node, list):
        return [with_scalars(one, shape.element, f"{path}.{place}") for place, one in enumerate(walk(node), 1)]
    if shape.inner is not None and isinstance(node, dict):
        return {
            name: with_scalars(one, shape.inner.get(name, _LEAF), f"{path}.{name}" if path else str(name))
            for name, one in walk(node.items())
        }
    return node


def _time(node: Any, path: str) -> datetime:
    if isinstance(node, int | float) and not isinstance(node, bool):
        try:
            return datetime.fromtimestamp(node, UTC)
        except (ValueError, OverflowError, OSError):
            _fail("value", path, sentences.TIME_OUT_OF_RANGE)
    _fail("type", path, sentences.EXPECTED_TIMESTAMP)


def _time_of_text(text: str, path: str) -> datetime:
    """The time of a text in the form of ISO 8601, of UTC unless it says otherwise,
    or of a number of seconds since 1970.
    """
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        try:
            return _time(float(text), path)
        except ValueError:
            _fail("type", path, sentences.EXPECTED_TIMESTAMP)
    return _in_utc(time if time.tzinfo is not None else time.replace(tzinfo=UTC), path)


def _in_utc(time: datetime, path: str) -> datetime:
    """The time in UTC, where the years 1 and 9999 may end earlier than at another offset. Raises MembersWrong."""
    try:
        return time.astimezone(UTC)
    except (OverflowError, ValueError):  # ValueError for a time without an offset, of this machine
        _fail("value", path, sentences.TIME_OUT_OF_RANGE)


# --- the Query form --------------------------------------------------------------------------------

FormTree = dict[str, Any]
"""First part of a name → value, or tree of what follows it."""


def tree_of(pairs: list[tuple[str, str]], shape: Shape) -> FormTree:
    """`MetricData.member.1.Value=5` → nested dicts; may give way. Names that the structure does not have are passed
    over. Free what is returned with `free_tree`. Raises MembersWrong.
    """
    tree: FormTree = {}
    assert shape.inner is not None
    try:
        for name, value in walk(pairs):
            if name.count(".") >= QUERY_LEVELS_MAX:
                _fail("value", name[:100], sentences.TOO_MANY_LEVELS)
            if name.partition(".")[0] in shape.inner:
                _add_to_tree(tree, name, value, shape)
    except BaseException:
        free_tree(tree)
        raise
    return tree


def _add_to_tree(tree: FormTree, name: str, value: str, shape: Shape) -> None:
    """Add a value, and the structures and lists around it. What a structure does not have is passed over, but the
    structure then exists. Raises MembersWrong.
    """
    *parts, last = name.split(".")
    place = tree
    for part in parts:
        if shape.inner is not None and part not in shape.inner:
            return
        shape = _shape_below(shape, part)
        below = place.setdefault(part, {})
        if not isinstance(below, dict):
            _fail("type", name, sentences.EXPECTED_STRUCTURE)
        place = below
    if shape.inner is not None and last not in shape.inner:
        return
    if isinstance(place.get(last), dict):
        _fail("type", name, sentences.EXPECTED_LEAF)
    place[last] = value


def _shape_below(shape: Shape, part: str) -> Shape:
    """The shape of what a part of a name leads to; that of a leaf if any part may follow."""
    if shape.inner is not None:
        return shape.inner[part]
    if shape.kind != "List" or shape.member is None:
        return _LEAF
    return shape if part == "member" else shape.member


def free_tree(tree: FormTree) -> None:
    """Empty a tree dict by dict, giving way, also if the client has left: half a million dicts at once take 50 ms."""
    waiting = [tree]
    while waiting:
        with suppress(Abandoned):  # whatever raised it before, or the next look, ends the request
            spend(1)
        if not waiting[-1]:
            waiting.pop()
            continue
        _, below = waiting[-1].popitem()
        if isinstance(below, dict):
            waiting.append(below)


def from_tree(node: Any, shape: Shape, path: str = "") -> Any:
    """What a tree means for a type; may give way. Raises MembersWrong."""
    if shape.kind not in {"Structure", "List", "Map"}:
        if isinstance(node, dict):
            _fail("type", path, sentences.EXPECTED_LEAF)
        return _time_of_text(node, path) if shape.kind == "Time" else node
    if node == "":
        return [] if shape.kind == "List" else {}
    if not isinstance(node, dict):
        _fail("type", path, sentences.EXPECTED_LIST if shape.kind == "List" else sentences.EXPECTED_STRUCTURE)
    if shape.inner is not None:
        return {
            name: from_tree(one, shape.inner[name], f"{path}.{name}" if path else name)
            for name, one in walk(node.items())
            if name in shape.inner
        }
    numbered = node.get("member" if shape.kind == "List" else "entry", node)
    if not isinstance(numbered, dict) or not all(one.isdecimal() and len(one) < 8 for one in walk(numbered)):
        _fail("type", path, sentences.EXPECTED_NUMBERS)
    ordered = [(name, numbered[name]) for _, name in walk(sort([(int(name), name) for name in walk(numbered)]))]
    if shape.kind == "List":
        return [from_tree(one, shape.element, f"{path}.{number}") for number, one in walk(ordered)]
    entries = [one for _, one in ordered]
    if not all(isinstance(one, dict) and isinstance(one.get("key"), str) for one in entries):
        _fail("type", path, sentences.EXPECTED_ENTRIES)
    return {one["key"]: from_tree(one.get("value", ""), shape.element, f"{path}.{one['key']}") for one in entries}
