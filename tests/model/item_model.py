"""A table as a dictionary: an independent implementation of DynamoDB's data plane. Imports nothing from hashrange.

Values are pairs (type, content): ("S", str), ("N", Decimal), ("B", bytes), ("SS" / "NS" / "BS", frozenset), ("BOOL",
bool), ("NULL", True), ("L", tuple), ("M", dict). An item is a dict of values.
`Refused` holds every message that is right: of two faults in one update, the service may report either.
"""

import base64
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any

Native = tuple[str, Any]
Item = dict[str, Native]
Path = tuple[str | int, ...]
Test = Callable[[Item], bool]

PATH_INVALID = "The document path provided in the update expression is invalid for update"
TYPE_WRONG = "An operand in the update expression has an incorrect data type"
OPERAND_MISSING = "The provided expression refers to an attribute that does not exist in the item"
CONDITION_FAILED = "The conditional request failed"


class Refused(Exception):
    """The request must be refused, with one of these messages."""

    def __init__(self, *messages: str) -> None:
        super().__init__(*messages)
        self.messages = set(messages)


# --- wire form ----------------------------------------------------------------------------------


def to_wire(value: Native) -> dict[str, Any]:
    """A value in the form of requests."""
    kind, content = value
    match kind:
        case "N":
            return {"N": str(content)}
        case "B":
            return {"B": base64.b64encode(content).decode()}
        case "SS" | "NS" | "BS":
            return {kind: [next(iter(to_wire((kind[0], member)).values())) for member in content]}
        case "L":
            return {"L": [to_wire(element) for element in content]}
        case "M":
            return {"M": item_to_wire(content)}
    return {kind: content}


def from_wire(value: dict[str, Any]) -> Native:
    """A value of a reply."""
    ((kind, content),) = value.items()
    match kind:
        case "N":
            assert "E" not in content.upper(), content
            return "N", Decimal(content)
        case "B":
            return "B", base64.b64decode(content)
        case "SS" | "NS" | "BS":
            members = [from_wire({kind[0]: member})[1] for member in content]
            assert len(members) == len(set(members)), content
            return kind, frozenset(members)
        case "L":
            return "L", tuple(from_wire(element) for element in content)
        case "M":
            return "M", item_from_wire(content)
    return kind, content


def item_to_wire(item: Item) -> dict[str, Any]:
    return {name: to_wire(value) for name, value in item.items()}


def item_from_wire(item: dict[str, Any]) -> Item:
    return {name: from_wire(value) for name, value in item.items()}


# --- sizes --------------------------------------------------------------------------------------


def number_bytes(number: Decimal) -> int:
    if not number:
        return 1
    whole, _, fraction = f"{abs(number):f}".partition(".")
    whole, fraction = whole.lstrip("0"), fraction.rstrip("0")
    if not fraction:
        whole = whole.rstrip("0")
    if not whole:
        fraction = fraction.lstrip("0")
    return 1 + (len(whole) + 1) // 2 + (len(fraction) + 1) // 2 + (number < 0)


def value_bytes(value: Native) -> int:
    kind, content = value
    match kind:
        case "S":
            return len(content.encode())
        case "N":
            return number_bytes(content)
        case "B":
            return len(content)
        case "SS" | "NS" | "BS":
            return sum(value_bytes((kind[0], member)) for member in content)
        case "L":
            return 3 + sum(1 + value_bytes(element) for element in content)
        case "M":
            return 3 + len(content) + item_bytes(content)
    return 1


def item_bytes(item: Item) -> int:
    return sum(len(name.encode()) + value_bytes(value) for name, value in item.items())


# --- paths --------------------------------------------------------------------------------------


def resolve(item: Item, path: Path) -> Native | None:
    """The value at a path; None when there is none."""
    value: Native | None = ("M", item)
    for element in path:
        if value is None:
            return None
        kind, content = value
        if isinstance(element, str):
            value = content.get(element) if kind == "M" else None
        else:
            value = content[element] if kind == "L" and element < len(content) else None
    return value


def project(item: Item, paths: Iterable[Path]) -> Item:
    """The item reduced to the paths."""
    projected = _project(("M", item), list(paths))
    return {} if projected is None else projected[1]


def _project(value: Native, paths: list[Path]) -> Native | None:
    """The selected parts of a value; None when it has none of them."""
    if () in paths:
        return value
    kind, _ = value
    heads = sorted({path[0] for path in paths if isinstance(path[0], str) == (kind == "M")})
    found: list[tuple[str | int, Native]] = []
    for head in heads:
        inner = resolve({"": value}, ("", head))
        chosen = None if inner is None else _project(inner, [path[1:] for path in paths if path[0] == head])
        if chosen is not None:
            found.append((head, chosen))
    if not found:
        return None
    return ("M", dict(found)) if kind == "M" else ("L", tuple(inner for _, inner in found))


# --- updates ------------------------------------------------------------------------------------

Compute = Callable[[Item], Native]


class Action:
    """One action of an update: `kind` of SET, REMOVE, ADD, DELETE on a path;
    `compute` gives SET's value, `value` the others'.
    """

    def __init__(self, kind: str, path: Path, compute: Compute | None = None, value: Native | None = None) -> None:
        self.kind = kind
        self.path = path
        self.compute = compute
        self.value = value

    def new_value(self, before: Item) -> Native | None:
        """The new value at the path; None: no value."""
        if self.kind == "SET":
            assert self.compute is not None
            return self.compute(before)
        if self.kind == "REMOVE":
            return None
        assert self.value is not None
        old = resolve(before, self.path)
        kind, content = self.value
        if self.kind == "ADD":
            if old is None:
                return self.value
            if old[0] != kind:
                raise Refused(TYPE_WRONG)
            return kind, old[1] + content if kind == "N" else old[1] | content
        if old is None:
            return None
        if old[0] != kind:
            raise Refused(TYPE_WRONG)
        return (kind, old[1] - content) if old[1] - content else None


def changed(value: Native, path: Path, new: Native | None) -> Native:
    """`value` with another value, or none, at a path below it."""
    kind, content = value
    head, rest = path[0], path[1:]
    if kind != ("M" if isinstance(head, str) else "L"):
        raise Refused(PATH_INVALID)
    inner = resolve({"": value}, ("", head))
    if rest:
        if inner is None:
            raise Refused(PATH_INVALID)
        new = changed(inner, rest, new)
    if isinstance(head, str):
        others = {name: member for name, member in content.items() if name != head}
        return "M", others if new is None else others | {head: new}
    if inner is None:
        return "L", content if new is None else (*content, new)
    return "L", content[:head] + (() if new is None else (new,)) + content[head + 1 :]


def updated(before: Item | None, actions: list[Action]) -> Item | None:
    """The item after actions on different top-level attributes; None when there is no item before and after."""
    if before is None and actions and all(action.kind in ("REMOVE", "DELETE") for action in actions):
        return None
    after: Native = ("M", dict(before or {}))
    refused: set[str] = set()
    for action in actions:
        new = None
        try:
            new = action.new_value(before or {})
        except Refused as refusal:
            refused |= refusal.messages
        if before is None and action.kind == "REMOVE":
            continue
        try:
            after = changed(after, action.path, new)
        except Refused as refusal:
            refused |= refusal.messages
    if refused:
        raise Refused(*refused)
    item: Item = after[1]
    return item


# --- tables -------------------------------------------------------------------------------------


class ModelTable:
    """Items by key; sort key `sk` or none."""

    def __init__(self, has_sort_key: bool) -> None:
        self.key_names = ("pk", "sk") if has_sort_key else ("pk",)
        self.items: dict[tuple[Native, ...], Item] = {}

    def key(self, item: Item) -> tuple[Native, ...]:
        return tuple(item[name] for name in self.key_names)

    def key_item(self, item: Item) -> Item:
        return {name: item[name] for name in self.key_names}

    def get(self, key: Item) -> Item | None:
        return self.items.get(self.key(key))

    def write(
        self, key: Item, plan: Callable[[Item | None], Item | None], condition: Test | None
    ) -> tuple[Item | None, Item | None]:
        """Check the condition, apply the plan, and return the old and the new item."""
        old = self.get(key)
        if condition is not None and not condition(old or {}):
            raise Refused(CONDITION_FAILED)
        new = plan(old)
        if new is None:
            self.items.pop(self.key(key), None)
        else:
            self.items[self.key(key)] = new
        return old, new

    def partition(self, value: Native) -> list[Item]:
        """Items of one partition key in the order of their sort keys."""
        found = [item for item in self.items.values() if item["pk"] == value]
        return sorted(found, key=lambda item: order(item[self.key_names[-1]]))


def order(value: Native) -> Any:
    """The sort order of scalars of one type."""
    return value[1].encode() if value[0] == "S" else value[1]
