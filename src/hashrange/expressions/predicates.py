"""How is a condition evaluated quickly? Each node of its tree becomes a closure with the arguments (item, values).

Common shapes (a top-level attribute and a `:value`) have closures of their own; calling one takes 0.1 to 0.3 µs. Value
types are part of an expression's cache key, so closures may rely on them.
"""

from collections.abc import Callable, Iterable
from typing import Any

from hashrange.expressions import tree
from hashrange.expressions.tree import Values
from hashrange.expressions.values import ORDERED_TYPES, ORDERS, contains, has_prefix, is_ordered, size_of
from hashrange.items.paths import resolve_path
from hashrange.items.steps import look, walk
from hashrange.items.types import Item, Value
from hashrange.limits import MEMBERSHIP_OPERANDS_MAX

Test = Callable[[Item, Values], bool]
Getter = Callable[[Item, Values], Value | None]
Holds = Callable[[Value, Value], bool]
Tests = dict[int, Test]
"""id() of a condition → its test, for the conditions that are compiled so far."""

UNHASHED_CONTAINS_MAX = 2
"""A condition with at most this many contains() calls searches without hash tables."""
_SCALAR_TYPES = frozenset(("S", "N", "B", "BOOL", "NULL"))
"""Types whose values are compared without giving way (`look`) first; other values may have very many members."""
UNCOUNTED_COMPARISONS_MAX = 64
"""A condition with more comparisons gives way between them: each of two texts of 400 KB takes 0.1 ms. What may take
longer, such as contains(), counts its own steps.
"""
MEMBERS_MIN = 64
"""Lists and sets with fewer members are searched directly, which takes no longer than finding their hash table."""
_SCALARS = frozenset((str, bool))
"""Python's types of the scalars that are hashed."""
_TRUE: Value = {"BOOL": True}
_FALSE: Value = {"BOOL": False}


class Memberships:
    """Long lists and sets that a condition's running evaluations have searched, with their hash tables.

    At the second search of a long list or set, its members are hashed. Without hash tables, 145 calls of contains()
    over a list of 100,000 numbers took a second per item. The hash tables are dropped after each evaluation of the
    condition. Evaluations may interleave, as each may give way: one that ends also drops the hash tables of the others,
    which build them again.
    """

    __slots__ = ("_kept",)

    def __init__(self) -> None:
        self._kept: dict[int, tuple[list[Any], frozenset[Any] | None]] = {}
        """id() of a list → the list, kept so that no other list gets its id, and its hashed members (None at first)."""

    def contains(self, container: Value, wanted: Value) -> bool:
        """Like `contains` of `values.py`, but later searches of a long list or set for a scalar use hashes."""
        ((container_type, content),) = container.items()
        ((wanted_type, scalar),) = wanted.items()
        if (
            content.__class__ is not list
            or len(content) < MEMBERS_MIN
            or scalar.__class__ not in _SCALARS
            or (container_type != "L" and container_type[0] != wanted_type)
        ):
            return contains(container, wanted)
        known = self._kept.get(id(content))
        if known is None:
            self._kept[id(content)] = content, None
            return contains(container, wanted)
        members = known[1]
        if members is None:
            members = _scalars_of(content) if container_type == "L" else frozenset(walk(content))
            self._kept[id(content)] = content, members
        return (wanted_type, scalar) in members if container_type == "L" else scalar in members

    def forget(self) -> None:
        """Drop all hash tables."""
        self._kept.clear()


def _scalars_of(elements: list[Value]) -> frozenset[Any]:
    """(type, scalar) of all scalar elements of a list."""
    return frozenset([pair for element in walk(elements) for pair in element.items() if pair[1].__class__ in _SCALARS])


def compile_conditions(conditions: Iterable[tree.ConditionNode], root: tree.ConditionNode) -> Test:
    """Compile `root` to a test; `conditions` contains `root` and all nodes inside it, inner nodes first."""
    conditions = list(conditions)
    tests: Tests = {}
    is_repeated = (
        sum([isinstance(node, tree.FunctionCall) and node.function == "contains" for node in conditions])
        > UNHASHED_CONTAINS_MAX
    )
    memberships = Memberships() if is_repeated else None
    holds_member = contains if memberships is None else memberships.contains
    is_long = sum(map(_comparisons_of, walk(conditions))) > UNCOUNTED_COMPARISONS_MAX
    for node in conditions:
        tests[id(node)] = _compile_node(node, tests, holds_member, is_long=is_long)
    test = tests[id(root)]
    return test if memberships is None else _forgetting(test, memberships)


def _forgetting(test: Test, memberships: Memberships) -> Test:
    """Return a test that calls `test`, then drops all hash tables in `memberships`."""

    def test_and_forget(item: Item, values: Values) -> bool:
        try:
            return test(item, values)
        finally:
            memberships.forget()

    return test_and_forget


def _comparisons_of(node: tree.ConditionNode) -> int:
    """How often a node by itself compares two values, at most."""
    if isinstance(node, tree.Membership):
        return len(node.options)
    return 0 if isinstance(node, tree.And | tree.Or | tree.Not) else 1 + isinstance(node, tree.Between)


def _compile_node(node: tree.ConditionNode, tests: Tests, holds_member: Holds, *, is_long: bool) -> Test:
    """Compile a node whose inner nodes have `tests`. `is_long`: the whole condition is, so its parts give way."""
    if isinstance(node, tree.Comparison):
        return _compile_comparison(node, tests)
    if isinstance(node, tree.Between):
        return _compile_between(node, tests)
    if isinstance(node, tree.Membership):
        return _compile_membership(node, tests, gives_way=is_long)
    if isinstance(node, tree.FunctionCall):
        assert node.function in CONDITION_COMPILERS, f"{node.function} is a function of conditions that has no meaning"
        return CONDITION_COMPILERS[node.function](node, tests, holds_member)
    if isinstance(node, tree.Not):
        test = tests[id(node.condition)]
        return lambda item, values: not test(item, values)
    parts = [tests[id(part)] for part in node.conditions]
    is_all = isinstance(node, tree.And)
    return _compile_long_chain(parts, is_all=is_all) if is_long else _compile_chain(parts, is_all=is_all)


def _compile_chain(tests: list[Test], *, is_all: bool) -> Test:
    """Join tests by AND (`is_all`) or OR; they run from left to right until one decides."""
    if len(tests) == 2:
        one, two = tests
        if is_all:
            return lambda item, values: one(item, values) and two(item, values)
        return lambda item, values: one(item, values) or two(item, values)

    def test_all(item: Item, values: Values) -> bool:
        for test in tests:  # noqa: SIM110 - a generator takes twice as long
            if not test(item, values):
                return False
        return True

    def test_any(item: Item, values: Values) -> bool:
        for test in tests:  # noqa: SIM110 - as above
            if test(item, values):
                return True
        return False

    return test_all if is_all else test_any


def _compile_long_chain(tests: list[Test], *, is_all: bool) -> Test:
    """The same as `_compile_chain` for a part of a long condition: it gives way after each test."""

    def test_each(item: Item, values: Values) -> bool:
        for test in tests:
            if test(item, values) is not is_all:
                return not is_all
            look()
        return is_all

    return test_each


# --- operands -----------------------------------------------------------------------------------


def compile_path(elements: tuple[str | int, ...]) -> Callable[[Item], Value | None]:
    """Return a function from an item to the value at the path, or None if there is none."""
    return lambda item: resolve_path(item, elements)


def _top_level_name(operand: tree.Operand) -> str | None:
    """The attribute that a one-element path names; None for other operands."""
    if isinstance(operand, tree.DocumentPath) and len(operand.elements) == 1:
        name = operand.elements[0]
        return name if isinstance(name, str) else None
    return None


def compile_operand(operand: tree.Operand, tests: Tests) -> Getter:
    """Compile an operand to a function that returns its value, or None if it is missing.

    The operand is a path, `:value` or size(), or a function of conditions, whose value is true or false.
    """
    if isinstance(operand, tree.ValueToken):
        token = operand.token
        return lambda _item, values: values[token]
    if isinstance(operand, tree.DocumentPath):
        name = _top_level_name(operand)
        if name is not None:
            return lambda item, _values: item.get(name)
        elements = operand.elements
        return lambda item, _values: resolve_path(item, elements)
    assert isinstance(operand, tree.FunctionCall)
    if operand.function != "size":
        assert operand.function in CONDITION_COMPILERS, f"{operand.function} is no function of operands"
        test = tests[id(operand)]
        return lambda item, values: _TRUE if test(item, values) else _FALSE
    sized = compile_operand(operand.operands[0], tests)

    def get_size(item: Item, values: Values) -> Value | None:
        value = sized(item, values)
        size = None if value is None else size_of(value)
        return None if size is None else {"N": str(size)}

    return get_size


# --- comparisons --------------------------------------------------------------------------------


def _compile_comparison(node: tree.Comparison, tests: Tests) -> Test:
    operator, left, right = node
    if isinstance(left, tree.ValueToken) and not isinstance(right, tree.ValueToken):
        operator, left, right = tree.MIRRORED[operator], right, left
    if operator == "=":
        return _compile_equality(left, right, tests)
    if operator == "<>":
        equals = _compile_equality(left, right, tests)
        sizes = [compile_operand(operand, tests) for operand in (left, right) if isinstance(operand, tree.FunctionCall)]
        if sizes:  # a size() without a value makes any comparison false
            return lambda item, values: not equals(item, values) and None not in [size(item, values) for size in sizes]
        return lambda item, values: not equals(item, values)
    return _compile_order(operator, left, right, tests)


def _compile_equality(left: tree.Operand, right: tree.Operand, tests: Tests) -> Test:
    name = _top_level_name(left)
    if isinstance(right, tree.ValueToken) and right.type_name in _SCALAR_TYPES:
        token = right.token
        if name is not None:
            return lambda item, values: item.get(name) == values[token]
        get = compile_operand(left, tests)
        return lambda item, values: get(item, values) == values[token]
    get_left, get_right = compile_operand(left, tests), compile_operand(right, tests)

    def test_equal(item: Item, values: Values) -> bool:
        look()  # may give way, because comparing two large lists takes some ms
        value = get_left(item, values)
        return value is not None and value == get_right(item, values)

    return test_equal


def _compile_order(operator: str, left: tree.Operand, right: tree.Operand, tests: Tests) -> Test:
    """Compile `left operator right` for < <= > >=."""
    if isinstance(right, tree.ValueToken) and right.type_name in ORDERED_TYPES:
        return _compile_order_with_value(operator, left, right.token, right.type_name, tests)
    get_left, get_right = compile_operand(left, tests), compile_operand(right, tests)

    def test_order(item: Item, values: Values) -> bool:
        one, two = get_left(item, values), get_right(item, values)
        return one is not None and two is not None and is_ordered(operator, one, two)

    return test_order


def _compile_order_with_value(operator: str, left: tree.Operand, token: str, type_name: str, tests: Tests) -> Test:
    """Compile `left operator :token` for < <= > >= and a known value type."""
    compare = ORDERS[operator, type_name]
    name = _top_level_name(left)
    if name is not None:

        def test_attribute(item: Item, values: Values) -> bool:
            value = item.get(name)
            if value is None:
                return False
            scalar = value.get(type_name)
            return scalar is not None and compare(scalar, values[token][type_name])

        return test_attribute
    get = compile_operand(left, tests)

    def test_operand(item: Item, values: Values) -> bool:
        value = get(item, values)
        if value is None:
            return False
        scalar = value.get(type_name)
        return scalar is not None and compare(scalar, values[token][type_name])

    return test_operand


def _compile_between(node: tree.Between, tests: Tests) -> Test:
    above = _compile_order(">=", node.operand, node.lower, tests)
    below = _compile_order("<=", node.operand, node.upper, tests)
    if isinstance(node.lower, tree.ValueToken) and isinstance(node.upper, tree.ValueToken):
        return lambda item, values: above(item, values) and below(item, values)
    get_lower, get_upper = compile_operand(node.lower, tests), compile_operand(node.upper, tests)

    def test_between(item: Item, values: Values) -> bool:
        lower, upper = get_lower(item, values), get_upper(item, values)
        if lower is None or upper is None or lower.keys() != upper.keys():
            return False
        return above(item, values) and below(item, values)

    return test_between


# C901: each form of members has its own quick test
def _compile_membership(node: tree.Membership, tests: Tests, *, gives_way: bool) -> Test:  # noqa: C901
    get = compile_operand(node.operand, tests)
    if all(isinstance(option, tree.ValueToken) for option in walk(node.options)):
        if len(node.options) > MEMBERSHIP_OPERANDS_MAX:
            return _compile_long_membership(node, tests)
        tokens = [option.token for option in node.options if isinstance(option, tree.ValueToken)]
        gives_way = gives_way or any(
            option.type_name not in _SCALAR_TYPES for option in node.options if isinstance(option, tree.ValueToken)
        )

        def test_tokens(item: Item, values: Values) -> bool:
            value = get(item, values)
            if value is not None:
                for token in tokens:
                    if gives_way:
                        look()
                    if value == values[token]:
                        return True
            return False

        return test_tokens
    options = [compile_operand(option, tests) for option in node.options]

    def test_options(item: Item, values: Values) -> bool:
        value = get(item, values)
        if value is not None:
            for option in options:
                look()
                if value == option(item, values):
                    return True
        return False

    return test_options


def _compile_long_membership(node: tree.Membership, tests: Tests) -> Test:
    """Compile IN with more options than expressions allow, as one set look-up.

    Only an IN of legacy parameters has as many options; all of them are scalars.
    """
    get = compile_operand(node.operand, tests)
    tokens = [option.token for option in walk(node.options) if isinstance(option, tree.ValueToken)]
    kept: tuple[Values | None, frozenset[Any]] = (None, frozenset())

    def test_scalar(item: Item, values: Values) -> bool:
        nonlocal kept
        value = get(item, values)
        if value is None:
            return False
        if kept[0] is not values:
            kept = values, frozenset([next(iter(values[token].items())) for token in walk(tokens)])
        pair = next(iter(value.items()))
        return pair[1].__class__ is str and pair in kept[1]

    return test_scalar


# --- functions ----------------------------------------------------------------------------------


def _compile_exists(call: tree.FunctionCall, tests: Tests, _holds_member: Holds) -> Test:
    name = _top_level_name(call.operands[0])
    if name is not None:
        return lambda item, _values: name in item
    get = compile_operand(call.operands[0], tests)
    return lambda item, values: get(item, values) is not None


def _compile_not_exists(call: tree.FunctionCall, tests: Tests, _holds_member: Holds) -> Test:
    name = _top_level_name(call.operands[0])
    if name is not None:
        return lambda item, _values: name not in item
    get = compile_operand(call.operands[0], tests)
    return lambda item, values: get(item, values) is None


def _compile_type(call: tree.FunctionCall, tests: Tests, _holds_member: Holds) -> Test:
    get, second = compile_operand(call.operands[0], tests), call.operands[1]
    assert isinstance(second, tree.ValueToken)
    token = second.token

    def test_type(item: Item, values: Values) -> bool:
        value = get(item, values)
        return value is not None and values[token]["S"] in value

    return test_type


def _compile_pair(call: tree.FunctionCall, tests: Tests, holds: Holds) -> Test:
    """Compile a call of two operands to a test that calls `holds` on their values; false if a value is missing."""
    get_first, get_second = compile_operand(call.operands[0], tests), compile_operand(call.operands[1], tests)

    def test_function(item: Item, values: Values) -> bool:
        one, two = get_first(item, values), get_second(item, values)
        return one is not None and two is not None and holds(one, two)

    return test_function


CONDITION_COMPILERS: dict[str, Callable[[tree.FunctionCall, Tests, Holds], Test]] = {
    "attribute_exists": _compile_exists,
    "attribute_not_exists": _compile_not_exists,
    "attribute_type": _compile_type,
    "begins_with": lambda call, tests, _holds_member: _compile_pair(call, tests, has_prefix),
    "contains": _compile_pair,
}
"""Function → its compiler. Each function of `condition.CONDITION_FUNCTIONS` is a key here or in OPERAND_FUNCTIONS."""
OPERAND_FUNCTIONS = ("size",)
"""Functions used as operands; `compile_operand` compiles them."""
