"""Which values does one list of a filter pattern accept?
`["shipped", {"prefix": "re"}]` becomes a function of one value.

The values are what is not an object or a list in the JSON of a stream record: strings, numbers, booleans and null.
A value is accepted if one element of the list accepts it. An element is one of

    "text", 12, true, null             the same value; true is not 1, and "1" is not 1
    {"equals-ignore-case": "text"}     a string that differs at most in upper and lower case
    {"prefix": "text"}                 a string that begins so; also {"prefix": {"equals-ignore-case": "text"}}
    {"suffix": "text"}                 a string that ends so; also {"suffix": {"equals-ignore-case": "text"}}
    {"numeric": [">", 0, "<=", 5]}     a number in a range, or compared by one of = < <= > >=
    {"anything-but": …}                any value but this: a string or number, a list of either, or an object with
                                       prefix, suffix or equals-ignore-case of a string or a list of strings
    {"exists": true}                   any value; {"exists": false}: that there is none

Patterns have the form in which `filter_patterns.py` decodes them: lists are JSON arrays, tuples of (name,
value) JSON objects. Sources: Lambda's developer guide of 2026, *Control which events Lambda sends to your function*,
for all but the objects inside `prefix`, `suffix` and `anything-but`; EventBridge's user guide of 2026,
*Comparison operators for use in event patterns*, for these and for the range of numbers.

Unconfirmed, our choice:

- An operator that Lambda's guide does not list is invalid: `wildcard`, `cidr`.
  The objects that only EventBridge's guide has are valid. An element with two operators is invalid.
- Numbers are equal by value, as in EventBridge's published engine (aws/event-ruler);
  both guides say that 300 and 300.0 differ.
- Numbers of `numeric` and `anything-but` are invalid if they are out of range or have more than six decimals,
  as is a range whose lower bound is not below the upper one, or comes second.
- `anything-but` accepts values of all other types. With an empty prefix or suffix it is invalid;
  elsewhere these are valid.
- Case is ignored by Unicode's case folding, so that "ß" equals "SS".
"""

import operator
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from hashrange.errors import HashrangeError
from hashrange.limits import FILTER_DECIMALS_MAX, FILTER_NUMBER_MAX
from hashrange.messages.event_source_mappings import INVALID_PATTERN

ValueTest = Callable[[Any], bool]
"""True if a string, number, boolean or null is accepted. Never raises an error for these."""


class InvalidPattern(HashrangeError):
    """A filter pattern is not valid. The API answers InvalidParameterValueException with `message`."""

    message = INVALID_PATTERN

    def __init__(self) -> None:
        super().__init__(INVALID_PATTERN)


class ValueRule(NamedTuple):
    """What one list of a pattern says about the values at its place in a record."""

    accepts: ValueTest
    accepts_absence: bool
    """True if the list contains `{"exists": false}`."""


_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_NUMBERS: frozenset[type] = frozenset((int, float))
"""Classes of JSON numbers. `bool`, a subclass of int, is not among them."""


def compile_rule(elements: list[Any]) -> ValueRule:
    """The rule that a list of a pattern stands for. Raises InvalidPattern."""
    if not elements:
        raise InvalidPattern
    texts: dict[_JoinTexts, list[str]] = {}
    numbers: set[int | float] = set()
    literals: dict[bool | None, ValueTest] = {}
    tests: list[ValueTest] = []
    accepts_absence = False
    for element in elements:
        if isinstance(element, str):
            texts.setdefault(_is_string_among, []).append(element)
        elif element is None or isinstance(element, bool):
            literals[element] = _is_literal(element)
        elif isinstance(element, int | float):
            numbers.add(element)
        elif isinstance(element, tuple):
            name, argument = _only_member(element)
            if name == "exists" and argument is False:
                accepts_absence = True
            elif name in _TEXT_OPERATORS:
                join, text = _text_operator(name, argument)
                texts.setdefault(join, []).append(text)
            else:
                tests.append(_compile_operator(name, argument))
        else:
            raise InvalidPattern
    if numbers:
        tests.insert(0, _is_number_among(numbers))
    joined = [join(of_kind) for join, of_kind in texts.items()]
    return ValueRule(_any_of([*joined, *tests, *literals.values()]), accepts_absence)


def _any_of(tests: list[ValueTest]) -> ValueTest:
    """Join tests by OR; without any, no value is accepted."""
    return tests[0] if len(tests) == 1 else lambda value: any(test(value) for test in tests)


def _is_literal(wanted: bool | None) -> ValueTest:
    return lambda value: value is wanted


def _is_number_among(numbers: set[int | float]) -> ValueTest:
    return lambda value: value.__class__ in _NUMBERS and value in numbers


# --- strings ------------------------------------------------------------------------------------


_JoinTexts = Callable[[Sequence[str]], ValueTest]
"""Makes one test of all texts of a kind. Of a long value, it folds and compares no more characters than the longest
text has when folded. Only the comparison with whole texts hashes all of the value, once (0.2 ms for 400 KB)."""


_Has = Callable[[str, tuple[str, ...]], bool]
"""`str.startswith` or `str.endswith`."""


def _is_string_among(texts: Sequence[str]) -> ValueTest:
    return frozenset(texts).__contains__


def _is_folded_among(texts: Sequence[str]) -> ValueTest:
    wanted = frozenset(map(str.casefold, texts))
    longest = max(map(len, wanted))  # no character folds to fewer than one
    return lambda value: value.__class__ is str and len(value) <= longest and value.casefold() in wanted


def _has_affix(has: _Has, texts: Sequence[str]) -> ValueTest:
    affixes = tuple(texts)
    return lambda value: value.__class__ is str and has(value, affixes)


def _has_folded_affix(has: _Has, texts: Sequence[str]) -> ValueTest:
    affixes = tuple(map(str.casefold, texts))
    longest = max(1, *map(len, affixes))
    part = slice(longest) if has is str.startswith else slice(-longest, None)
    return lambda value: value.__class__ is str and has(value[part].casefold(), affixes)


_TEXT_OPERATORS: dict[str, _JoinTexts] = {
    "equals-ignore-case": _is_folded_among,
    "prefix": partial(_has_affix, str.startswith),
    "suffix": partial(_has_affix, str.endswith),
}
"""Operators whose argument is a text. `anything-but` may contain them."""
_FOLDED_OPERATORS: dict[str, _JoinTexts] = {
    "prefix": partial(_has_folded_affix, str.startswith),
    "suffix": partial(_has_folded_affix, str.endswith),
}
"""Operators whose argument may be `{"equals-ignore-case": text}`."""


def _text_operator(name: str, argument: Any) -> tuple[_JoinTexts, str]:
    """The kind and the text of an operator of `_TEXT_OPERATORS`."""
    if isinstance(argument, tuple) and name in _FOLDED_OPERATORS:
        inner, text = _only_member(argument)
        if inner != "equals-ignore-case":
            raise InvalidPattern
        return _FOLDED_OPERATORS[name], _string(text)
    return _TEXT_OPERATORS[name], _string(argument)


def _string(argument: Any) -> str:
    if not isinstance(argument, str):
        raise InvalidPattern
    return argument


# --- operators ----------------------------------------------------------------------------------


def _compile_operator(name: str, argument: Any) -> ValueTest:
    compile_one = _OPERATORS.get(name)
    if compile_one is None:
        raise InvalidPattern
    return compile_one(argument)


def _only_member(members: tuple[tuple[str, Any], ...]) -> tuple[str, Any]:
    """Name and value of an object's one member."""
    if len(members) != 1:
        raise InvalidPattern
    return members[0]


def _exists(argument: Any) -> ValueTest:
    if argument is not True:
        raise InvalidPattern
    return lambda value: True


# --- numbers ------------------------------------------------------------------------------------


def _number(argument: Any) -> int | float:
    """A number that `numeric` and `anything-but` may compare with."""
    if not isinstance(argument, int | float) or isinstance(argument, bool):
        raise InvalidPattern
    if not -FILTER_NUMBER_MAX <= argument <= FILTER_NUMBER_MAX or round(argument, FILTER_DECIMALS_MAX) != argument:
        raise InvalidPattern
    return argument


def _numeric(argument: Any) -> ValueTest:
    above, below = ">=", "<="
    low: int | float = -FILTER_NUMBER_MAX
    high: int | float = FILTER_NUMBER_MAX
    match argument:
        case ["=", number]:
            low = high = _number(number)
        case [">" | ">=" as above, number]:
            low = _number(number)
        case ["<" | "<=" as below, number]:
            high = _number(number)
        case [">" | ">=" as above, first, "<" | "<=" as below, second]:
            low, high = _number(first), _number(second)
            if low >= high:
                raise InvalidPattern
        case _:
            raise InvalidPattern
    is_above, is_below = _COMPARISONS[above], _COMPARISONS[below]
    return lambda value: value.__class__ in _NUMBERS and is_above(value, low) and is_below(value, high)


# --- anything-but -------------------------------------------------------------------------------


def _anything_but(argument: Any) -> ValueTest:
    refused = _refused(argument)
    return lambda value: not refused(value)


def _refused(argument: Any) -> ValueTest:
    """Compile the argument of `anything-but` to a test of what it refuses."""
    if not isinstance(argument, tuple):
        return _is_among(argument if isinstance(argument, list) else [argument])
    name, texts = _only_member(argument)
    join = _TEXT_OPERATORS.get(name)
    if join is None:
        raise InvalidPattern
    texts = texts if isinstance(texts, list) else [texts]
    if not texts or (name != "equals-ignore-case" and "" in texts):
        raise InvalidPattern
    return join(list(map(_string, texts)))


def _is_among(values: list[Any]) -> ValueTest:
    """Compile a list that has only strings, or only numbers."""
    classes = {value.__class__ for value in values}
    if classes == {str}:
        return _is_string_among(values)
    if not classes or not classes <= _NUMBERS:
        raise InvalidPattern
    return _is_number_among({_number(value) for value in values})


_OPERATORS: dict[str, Callable[[Any], ValueTest]] = {
    "numeric": _numeric,
    "anything-but": _anything_but,
    "exists": _exists,
}
"""The other operators."""
OPERATOR_NAMES = frozenset((*_TEXT_OPERATORS, *_OPERATORS, "wildcard", "cidr"))
"""Names of all operators of EventBridge, also of those that Lambda does not support."""
