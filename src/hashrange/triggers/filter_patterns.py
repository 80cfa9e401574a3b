"""Does a stream record match the filter criteria of an event source mapping?
Their patterns become one function of the record.

A pattern is the JSON text of an object with the structure of a record as a function receives it,
with only the members that matter:

    {"eventName": ["INSERT", "MODIFY"], "dynamodb": {"NewImage": {"status": {"S": [{"prefix": "ship"}]}}}}

- A list says which values its member may have (`filter_operators.py`). All members of an object have to match,
  and at least one of the objects in a list named `$or`.
- If a value of the record is a list, one of its elements has to match.
  An object of the pattern matches one element with all its members.
- A list of the pattern compares strings, numbers, booleans and null.
  Where the record has an object or an empty list, there is no value.
- `{"exists": false}` matches if the record has no value there. Inside a list of objects, this means in none of the
  elements or, if other members match one element, in that element.
- A member that is repeated in an object adds its members to the former ones; its list replaces the former list.
  Lambda's guide has a pattern with `dynamodb` twice; EventBridge's guide says that the last list counts.

Sources: Lambda's developer guide of 2026, *Control which events Lambda sends to your function* and *Using event
filtering with a DynamoDB event source*; EventBridge's user guide, to which Lambda's refers: *Amazon EventBridge event
patterns*, *Arrays in event patterns*, *Matching null values and empty strings*, *Content filtering*;
the README of EventBridge's published engine, aws/event-ruler, for lists of objects and for what counts as `$or`.

Unconfirmed, our choice: every top-level member can be filtered, although Lambda's page about DynamoDB says that only
`dynamodb` can. `$or` is an ordinary name unless its value is a list of at least two objects, none of which has a member
named like an operator. A list inside `$or` does not replace one outside; both have to match.
All `$or` of an object have to match. Their combinations are not bounded, because the cost of a match does not depend
on them. A name with a dot is no path.

Cost: 0.2 µs for {"eventName": ["INSERT"]}, 0.4 µs for a string in an image, 0.6 µs for both;
0.1 to 0.25 µs for each element of a list that is compared. A pattern of 4,096 characters takes at most 0.15 ms, times
the elements of such lists, whatever the record has: of a long value no more is folded and compared than the pattern's
own texts are long, once for all alternatives of a list. Long patterns, and walks over lists, give way.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn

import msgspec

from hashrange.items.steps import spend, walk
from hashrange.limits import FILTER_LEVELS_MAX, FILTER_PATTERN_LENGTH_MAX
from hashrange.triggers.filter_operators import OPERATOR_NAMES, InvalidPattern, ValueRule, compile_rule
from hashrange.wire.python_json import decode_python_json

Matches = Callable[[dict[str, Any]], bool]
"""True if a record matches. The record is the decoded JSON of one element of an event's `Records`;
it is not changed."""

CHARACTERS_PER_STEP = 32
"""Characters of a pattern that count as one step whenever it is compared:
that is about the slowest that a pattern can be."""
CHARACTERS_PER_STEP_OF_COMPILING = 4
"""Characters of a pattern that are read and compiled in a microsecond, or in less."""

_Match = Callable[[Any], int]
"""Compares a part of a record with a part of a pattern; returns one of the next three, of which the first is false."""
_NO, _ABSENT, _PRESENT = range(3)
"""No match; a match for which nothing had to be in the record; a match of at least one value."""
_MISSING = object()
"""Stands for a member that is not in the record."""


class _Node(msgspec.Struct, eq=False):
    """What a pattern says about one place of a record, after repeated members have been united."""

    rule: ValueRule | None = None
    """For values at this place."""
    members: dict[str, "_Node"] = {}
    """Name of a member of an object at this place → the node for its value."""
    alternatives: list[list["_Node"]] = []
    """The objects of each `$or` for an object at this place."""


def compile_filters(patterns: Sequence[str]) -> Matches:
    """A function that says whether a record matches one of the patterns; without patterns, every record does.

    Raises InvalidPattern. 10 to 20 µs for a short pattern, up to 1 ms for one of 4,096 characters.
    """
    matches = [_compile_pattern(pattern) for pattern in patterns]
    if not matches:
        return lambda record: True
    if len(matches) == 1:
        (match,) = matches
        return lambda record: match(record) != _NO
    return lambda record: any(match(record) for match in matches)


def members_of(patterns: Sequence[str]) -> frozenset[str]:
    """The top-level members of a record that the patterns look at, such as `eventName`. Raises InvalidPattern.

    A record that lacks other members matches equally, so they need not be decoded.
    """
    names: set[str] = set()
    waiting = [_read_pattern(pattern) for pattern in patterns]
    while waiting:
        node = waiting.pop()
        names.update(node.members)
        for alternatives in node.alternatives:
            waiting += alternatives
    return frozenset(names)


# --- reading ------------------------------------------------------------------------------------


def _read_pattern(text: str) -> _Node:
    if len(text) > FILTER_PATTERN_LENGTH_MAX:
        raise InvalidPattern
    spend(len(text) // CHARACTERS_PER_STEP_OF_COMPILING)
    try:
        decoded = decode_python_json(text, object_pairs_hook=tuple, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise InvalidPattern from None
    node = _Node()
    _read_object(decoded, node, 1)
    return node


def _refuse_constant(_name: str) -> NoReturn:
    """Refuse NaN and Infinity, which are not JSON."""
    raise InvalidPattern


def _read_object(members: Any, node: _Node, levels: int) -> None:
    """Add the members of an object to a node. `levels`: objects around the members."""
    if not isinstance(members, tuple) or not members or levels > FILTER_LEVELS_MAX:
        raise InvalidPattern
    for name, value in members:
        if name == "$or" and _are_alternatives(value):
            alternatives = [_Node() for _ in value]
            for alternative, one in zip(alternatives, value, strict=True):
                _read_object(one, alternative, levels + 1)
            node.alternatives.append(alternatives)
            continue
        member = node.members.setdefault(name, _Node())
        if isinstance(value, list):
            member.rule = compile_rule(value)
        else:
            _read_object(value, member, levels + 1)


def _are_alternatives(value: Any) -> bool:
    """True if the value of `$or` means that one of several objects has to match."""
    if not isinstance(value, list) or len(value) < 2:
        return False
    return all(isinstance(one, tuple) and not any(name in OPERATOR_NAMES for name, _ in one) for one in value)


# --- matching -----------------------------------------------------------------------------------


def _compile_pattern(text: str) -> _Match:
    """Compile one pattern. Of a long one, each comparison with a record or with an element of a list
    counts steps for all of the pattern.
    """
    steps = max(0, len(text) // CHARACTERS_PER_STEP - 1)
    match = _compile_node(_read_pattern(text), steps)
    return _match_in_steps(match, steps) if steps else match


def _match_in_steps(match: _Match, steps: int) -> _Match:
    def match_in_steps(value: Any) -> int:
        spend(steps)
        return match(value)

    return match_in_steps


def _compile_node(node: _Node, steps: int) -> _Match:
    """`steps`: of comparing one element of a list, besides the one that a walk counts."""
    matches = []
    if node.rule is not None:
        matches.append(_match_values(node.rule, steps))
    if node.members or node.alternatives:
        members = [(name, _compile_node(member, steps)) for name, member in node.members.items()]
        parts = [_match_member(name, match) for name, match in members]
        parts += [_match_one_of([_compile_node(one, steps) for one in nodes]) for nodes in node.alternatives]
        match = _match_object(_match_all(parts), steps)
        matches.append(_match_lone_member(*members[0], match) if len(parts) == len(members) == 1 else match)
    return _match_all(matches)


def _match_values(rule: ValueRule, steps: int) -> _Match:
    """Match the value, or an element of a list of values."""
    accepts, if_absent = rule.accepts, _ABSENT if rule.accepts_absence else _NO

    def match(value: Any) -> int:
        if value.__class__ is str:
            return _PRESENT if accepts(value) else _NO
        if value.__class__ is dict or value is _MISSING:
            return if_absent
        if value.__class__ is not list:
            return _PRESENT if accepts(value) else _NO
        outcome = if_absent
        for element in _elements(value, steps):
            if element.__class__ is not dict:
                if accepts(element):
                    return _PRESENT
                outcome = _NO
        return outcome

    return match


def _match_object(match_members: _Match, steps: int) -> _Match:
    """Match an object, or an element of a list of objects. Anything else counts as an object without members."""
    if_absent = match_members({})

    def match(value: Any) -> int:
        if value.__class__ is dict:
            return match_members(value)
        if value.__class__ is not list:
            return if_absent
        outcome = if_absent
        for element in _elements(value, steps):
            found = match_members(element) if element.__class__ is dict else if_absent
            if found == _PRESENT:
                return _PRESENT
            if found == _NO:
                outcome = _NO
        return outcome

    return match


def _match_member(name: str, match: _Match) -> _Match:
    return lambda members: match(members.get(name, _MISSING))


def _match_lone_member(name: str, match_value: _Match, match_any: _Match) -> _Match:
    """Match as `match_any` does for a pattern object with this member only, in 2/3 of the time.
    Most patterns consist of such objects.
    """

    def match(value: Any) -> int:
        if value.__class__ is dict:
            return match_value(value.get(name, _MISSING))
        return match_any(value)

    return match


def _match_all(matches: list[_Match]) -> _Match:
    if len(matches) == 1:
        return matches[0]

    def match_all(value: Any) -> int:
        outcome = _ABSENT
        for match in matches:
            found = match(value)
            if not found:
                return _NO
            if found == _PRESENT:
                outcome = _PRESENT
        return outcome

    return match_all


def _match_one_of(matches: list[_Match]) -> _Match:
    def match_one_of(value: Any) -> int:
        outcome = _NO
        for match in matches:
            found = match(value)
            if found == _PRESENT:
                return _PRESENT
            outcome = outcome or found
        return outcome

    return match_one_of


def _elements(values: list[Any], steps: int) -> Iterator[Any]:
    """The elements of a list, and of lists in it at any depth. Gives way, because images may have very long lists.

    `steps`: of what is done with an element, besides the one that a walk counts.
    """
    waiting = [iter(walk(values))]
    while waiting:
        for element in waiting[-1]:
            if element.__class__ is list:
                waiting.append(iter(walk(element)))
                break
            if steps:
                spend(steps)
            yield element
        else:
            waiting.pop()
