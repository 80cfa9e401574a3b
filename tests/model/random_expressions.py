"""Random expressions with their meanings: each is a text with placeholders, and a function of a model item."""

import random
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from tests.model.item_model import (
    OPERAND_MISSING,
    TYPE_WRONG,
    Action,
    Item,
    Native,
    Path,
    Refused,
    Test,
    order,
    resolve,
    to_wire,
)

PATHS: list[Path] = [
    ("a",), ("b",), ("c",), ("size",), ("m",), ("l",), ("m", "x"), ("m", "y.z"), ("m", "x", "deep"), ("l", 0), ("l", 1),
    ("l", 7), ("l", 0, "x"), ("m", 0), ("l", "x"),
]  # fmt: skip
SCALARS: list[Native] = [
    ("S", ""),
    ("S", "a"),
    ("S", "ab"),
    ("S", "\U0001f600"),
    ("S", "\uffff"),
    ("N", Decimal(0)),
    ("N", Decimal(1)),
    ("N", Decimal("-2.5")),
    ("N", Decimal(1000000)),
    ("B", b""),
    ("B", b"\xff"),
    ("B", b"a"),
]
OTHERS: list[Native] = [
    ("BOOL", True), ("BOOL", False), ("NULL", True), ("SS", frozenset(["a", "b"])), ("SS", frozenset(["b", "c", ""])),
    ("NS", frozenset([Decimal(1), Decimal(2)])), ("NS", frozenset([Decimal(2)])), ("BS", frozenset([b"", b"\xff"])),
    ("L", ()), ("L", (("S", "a"), ("N", Decimal(1)))), ("L", (("M", {"x": ("N", Decimal(3))}), ("L", ()))), ("M", {}),
    ("M", {"x": ("N", Decimal(1)), "y.z": ("S", "a")}), ("M", {"x": ("M", {"deep": ("SS", frozenset(["a"]))})}),
]  # fmt: skip
SETS = [value for value in OTHERS if value[0] in ("SS", "NS", "BS")]
NUMBERS = [value for value in SCALARS if value[0] == "N"]
LISTS = [value for value in OTHERS if value[0] == "L"]


class Placeholders:
    """The names and values for the expressions of one request."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.names: dict[str, str] = {}
        self.values: dict[str, Any] = {}

    def path(self, path: Path) -> str:
        """The text of a path, with a placeholder for each name."""
        text = ""
        for element in path:
            if isinstance(element, int):
                text += f"[{element}]"
            else:
                token = f"#n{len(self.names)}"
                self.names[token] = element
                text += ("." if text else "") + token
        return text

    def value(self, value: Native) -> str:
        token = f":v{len(self.values)}"
        self.values[token] = to_wire(value)
        return token

    def members(self) -> dict[str, Any]:
        """The request's members ExpressionAttributeNames and ExpressionAttributeValues; empty maps are left out."""
        given = {"ExpressionAttributeNames": self.names, "ExpressionAttributeValues": self.values}
        return {name: value for name, value in given.items() if value}


def any_value(chance: random.Random) -> Native:
    return chance.choice(SCALARS if chance.random() < 0.5 else OTHERS)


# --- conditions ---------------------------------------------------------------------------------

COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "<": lambda a, b: a < b, "<=": lambda a, b: a <= b, ">": lambda a, b: a > b, ">=": lambda a, b: a >= b,
}  # fmt: skip


def random_condition(to: Placeholders, paths: list[Path], depth: int = 2) -> tuple[str, Test]:
    """A condition and its meaning."""
    chance = to.chance
    if depth and chance.random() < 0.5:
        left, test_left = random_condition(to, paths, depth - 1)
        if chance.random() < 0.3:
            return f"NOT ({left})" if not left.startswith("(") else f"NOT {left}", lambda item: not test_left(item)
        right, test_right = random_condition(to, paths, depth - 1)
        if chance.random() < 0.5:
            return f"({left} AND {right})", lambda item: test_left(item) and test_right(item)
        return f"({left} OR {right})", lambda item: test_left(item) or test_right(item)
    return chance.choice(
        [_equality, _ordering, _between, _membership, _existence, _type, _prefix, _containment, _size]
    )(to, paths)


def _equality(to: Placeholders, paths: list[Path]) -> tuple[str, Test]:
    path, value = to.chance.choice(paths), any_value(to.chance)
    sides = [to.path(path), to.value(value)]
    to.chance.shuffle(sides)
    if to.chance.random() < 0.5:
        return " = ".join(sides), lambda item: resolve(item, path) == value
    return " <> ".join(sides), lambda item: resolve(item, path) != value


def _ordering(to: Placeholders, paths: list[Path]) -> tuple[str, Test]:
    path, value = to.chance.choice(paths), to.chance.choice(SCALARS)
    operator = to.chance.choice(list(COMPARE))
    return f"{to.path(path)} {operator} {to.value(value)}", lambda item: _compares(operator, resolve(item, path), value)


def _compares(operator: str, one: Native | None, two: Native | None) -> bool:
    return (
        one is not None
        and two is not None
        and one[0] == two[0]
        and one[0] in "SNB"
        and COMPARE[operator](order(one), order(two))
    )


def _between(to: Placeholders, paths: list[Path]) -> tuple[str, Test]:
    kind = to.chance.choice("SNB")
    low, high = sorted(
        (to.chance.choice([value for value in SCALARS if value[0] == kind]) for _ in range(2)), key=order
    )
    path = to.chance.choice(paths)
    return (
        f"{to.path(path)} BETWEEN {to.value(low)} AND {to.value(high)}",
        lambda item: _compares(">=", resolve(item, path), low) and _compares("<=", resolve(item, path), high),
    )


def _membership(to: Placeholders, paths: list[Path]) -> tuple[str, Test]:
    path, options = to.chance.choice(paths), [any_value(to.chance) for _ in range(to.chance.randint(1, 3))]
    listed = ", ".join([to.value(option) for option in options])
    return f"{to.path(path)} IN ({listed})", lambda item: resolve(item, path) in options


def _existence(to: Placeholders, paths: list[Path]) -> tuple[str, Test]:
    path = to.chance.choice(paths)
    if to.chance.random() < 0.5:
        return f"attribute_exists({to.path(path)})", lambda item: resolve(item, path) is not None
    return f"attribute_not_exists({to.path(path)})", lambda item: resolve(item, path) is None


def _type(to: Placeholders, paths: list[Path]) -> tuple[str, Test]:
    path, kind = to.chance.choice(paths), to.chance.choice(["S", "N", "B", "SS", "NS", "BS", "BOOL", "NULL", "L", "M"])

    def test(item: Item) -> bool:
        value = resolve(item, path)
        return value is not None and value[0] == kind

    return f"attribute_type({to.path(path)}, {to.value(('S', kind))})", test


def _prefix(to: Placeholders, paths: list[Path]) -> tuple[str, Test]:
    path, prefix = to.chance.choice(paths), to.chance.choice([value for value in SCALARS if value[0] in "SB"])

    def test(item: Item) -> bool:
        value = resolve(item, path)
        return value is not None and value[0] == prefix[0] and bool(value[1].startswith(prefix[1]))

    return f"begins_with({to.path(path)}, {to.value(prefix)})", test


def _containment(to: Placeholders, paths: list[Path]) -> tuple[str, Test]:
    path, wanted = to.chance.choice(paths), any_value(to.chance)

    def test(item: Item) -> bool:
        value = resolve(item, path)
        if value is None:
            return False
        kind, content = value
        if kind in ("S", "B"):
            return wanted[0] == kind and wanted[1] in content
        if kind in ("SS", "NS", "BS"):
            return wanted[0] == kind[0] and wanted[1] in content
        return kind == "L" and wanted in content

    return f"contains({to.path(path)}, {to.value(wanted)})", test


def _size(to: Placeholders, paths: list[Path]) -> tuple[str, Test]:
    path, bound = to.chance.choice(paths), to.chance.randint(0, 3)
    operator = to.chance.choice(list(COMPARE))

    def test(item: Item) -> bool:
        value = resolve(item, path)
        if value is None or value[0] in ("N", "BOOL", "NULL"):
            return False
        return COMPARE[operator](len(value[1]), bound)

    return f"size({to.path(path)}) {operator} {to.value(('N', Decimal(bound)))}", test


# --- updates ------------------------------------------------------------------------------------


def random_update(to: Placeholders) -> tuple[str, list[Action]]:
    """An UpdateExpression on different top-level attributes, and its actions."""
    chance = to.chance
    clauses: dict[str, list[str]] = {}
    actions = []
    tops = chance.sample(["a", "b", "c", "size", "m", "l"], chance.randint(1, 3))
    for top in tops:
        path = chance.choice([path for path in PATHS if path[0] == top])
        kind = chance.choice(["SET", "SET", "SET", "REMOVE", "ADD", "DELETE"])
        if kind == "SET":
            text, compute = _operand(to, 2)
            action, written = Action(kind, path, compute), f"{to.path(path)} = {text}"
        elif kind == "REMOVE":
            action, written = Action(kind, path), to.path(path)
        else:
            value = chance.choice(SETS if kind == "DELETE" or chance.random() < 0.5 else NUMBERS)
            action, written = Action(kind, path, value=value), f"{to.path(path)} {to.value(value)}"
        actions.append(action)
        clauses.setdefault(kind, []).append(written)
    kinds = list(clauses)
    chance.shuffle(kinds)
    return " ".join([f"{kind} {', '.join(clauses[kind])}" for kind in kinds]), actions


def _operand(to: Placeholders, depth: int) -> tuple[str, Callable[[Item], Native]]:
    """The right-hand side of SET and its meaning."""
    chance = to.chance
    match chance.randint(0, 5 if depth else 1):
        case 0:
            path = chance.choice(PATHS)
            return to.path(path), lambda item: _present(item, path)
        case 1 | 2:
            value = any_value(chance)
            return to.value(value), lambda item: value
        case 3:
            path = chance.choice(PATHS)
            text, otherwise = _operand(to, 0)
            return f"if_not_exists({to.path(path)}, {text})", lambda item: resolve(item, path) or otherwise(item)
        case 4:
            return _arithmetic(to)
    return _append(to)


def _arithmetic(to: Placeholders) -> tuple[str, Callable[[Item], Native]]:
    path, value = to.chance.choice(PATHS), to.chance.choice(NUMBERS)
    sign = to.chance.choice("+-")

    def compute(item: Item) -> Native:
        old = _present(item, path)
        if old[0] != "N":
            raise Refused(TYPE_WRONG)
        return "N", old[1] + value[1] if sign == "+" else old[1] - value[1]

    return f"{to.path(path)} {sign} {to.value(value)}", compute


def _append(to: Placeholders) -> tuple[str, Callable[[Item], Native]]:
    path, value = to.chance.choice(PATHS), to.chance.choice(LISTS)
    is_first = to.chance.random() < 0.5

    def compute(item: Item) -> Native:
        old = _present(item, path)
        if old[0] != "L":
            raise Refused(TYPE_WRONG)
        return "L", old[1] + value[1] if is_first else value[1] + old[1]

    operands = [to.path(path), to.value(value)]
    return f"list_append({', '.join(operands if is_first else operands[::-1])})", compute


def _present(item: Item, path: Path) -> Native:
    value = resolve(item, path)
    if value is None:
        raise Refused(OPERAND_MISSING)
    return value
