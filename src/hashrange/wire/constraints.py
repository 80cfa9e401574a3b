"""Which members of a request break a declared constraint?
The first ten, in the service's order, are reported in one message.

Bounds come from the request struct (`wire.shape`); an operation's special wordings come from its rules (`wire.rules`).
Values have passed the check of their JSON types (`wire.jsontypes`).
Source: service behaviour, captures to October 2026.
"""

import re
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, NamedTuple

from hashrange.errors import ValidationException
from hashrange.items.steps import batches, spend, walk
from hashrange.limits import CONSTRAINT_ERRORS_MAX
from hashrange.messages import requests as messages
from hashrange.wire.fallback import holds_unread_values
from hashrange.wire.render import lower_camel, path_key, render_json, render_value
from hashrange.wire.rules import Constraint, ReportStage, RequestRules
from hashrange.wire.shape import Bounds, Shape

_ARN_START = "arn:"
_PIECE_CHARACTERS = 16 * 1024
BUCKET_PATTERN = r"^[a-z0-9A-Z]+[\.\-\w]*[a-z0-9A-Z]+$"
"""The model's pattern of the names of buckets. Python's `re` would take hours for a name of 16 KB that does not match,
because each part may end anywhere; so the ends and the characters are looked at instead.
"""
_BUCKET_CHARACTERS = r"[\.\-\w]+"
_is_bucket_end = re.compile("[a-z0-9A-Z]").fullmatch
"""Characters of a text that are matched at once, in at most 0.5 ms."""
_PIECE_STEPS = 500


class MemberPlace(NamedTuple):
    """The place of a value in the request."""

    path: str = ""
    """The path as messages show it: `requestItems.Music.member.keys`."""
    path_pattern: str = ""
    """The path with `{key}` in place of each map key: `requestItems.{key}.member.keys`."""
    key: str = ""
    """The innermost map key of the path, as messages show it; empty if there is none."""


class Violation(NamedTuple):
    """One broken constraint of a value; `words`, a part of the message, say with `bound` what the value must be."""

    place: MemberPlace
    constraint: Constraint
    value: Any
    shape: Shape
    words: str
    bound: object = None

    def text(self, *, is_json: bool = False) -> str:
        """The sentence for this violation if the operation has no special wording.
        `is_json`: with the value as JSON instead of as Java prints it.
        """
        value = render_json(self.value) if is_json else render_value(self.value, self.shape)
        words = self.words.format(bound=self.bound)
        return messages.VIOLATION.format(value=value, path=self.place.path, constraint=words)


def check_constraints(
    request: dict[str, Any], shape: Shape, rules: RequestRules, is_converted: Callable[[], bool] = lambda: False
) -> None:
    """Raise ValidationException if the request breaks constraints; the message lists at most ten.

    `is_converted()`: whether the request was converted so that the older layer checks it (`wire.fallback`).
    """
    violations = list(_structure_violations(request, shape, MemberPlace()))
    refused = rules.refused_words
    has_refused = refused is not None and request.get(refused.name) in refused.words
    if not violations and not has_refused:
        return
    is_incomplete = "incomplete" in rules.falls_back and any(one.constraint == "required" for one in violations)
    if is_incomplete or holds_unread_values(rules, request) or is_converted():
        if violations:
            # The older layer's message, without the operation's special wordings.
            raise ValidationException(envelope([one.text() for one in _without_needless_pattern(violations)]))
        return
    last = [refused.text] if refused is not None and has_refused else []
    message = _report(violations, rules, last)
    if message is not None:
        raise ValidationException(message)


def _without_needless_pattern(violations: list[Violation]) -> list[Violation]:
    """The violations, but of a table name that breaks length and pattern only that of the length."""
    lengths = {one.place for one in violations if one.constraint.endswith("_length")}
    return [
        one
        for one in violations
        if one.constraint != "pattern" or one.place.path != "tableName" or one.place not in lengths
    ]


def _report(violations: list[Violation], rules: RequestRules, last: list[str]) -> str | None:
    """The current layer's message for these violations; None if the operation reports all of them later.

    Special wordings replace sentences or the whole message; `last` are the sentences after those of all violations.
    """
    has_unknown_word = any(one.constraint == "enumeration" for one in violations)
    if rules.stages:
        violations = _first_stage(violations, rules.stages)
    texts: list[str] = []
    alone = None
    for violation in violations:
        place, constraint = violation.place, violation.constraint
        wording = rules.wordings.get((place.path_pattern, constraint))
        if wording is not None and wording.is_later:
            continue
        if wording is not None and wording.is_after_enumerations and has_unknown_word:
            continue
        if wording is not None and wording.is_json:
            texts.insert(0, violation.text(is_json=True))
            continue
        if wording is None:
            texts.append(violation.text())
            continue
        words = violation.text() if wording.text is None else wording.text.format(key=place.key)
        if wording.is_bare:
            return words
        texts.append(words)
        if wording.is_alone and alone is None:
            alone = words
    if alone is not None:
        return envelope([alone])
    texts += last
    return envelope(texts) if texts else None


def _first_stage(violations: list[Violation], stages: tuple[ReportStage, ...]) -> list[Violation]:
    """The violations of the first stage that has any; all violations if no stage has."""
    violations = _without_needless_pattern(violations)
    by_rule = {(one.place.path_pattern, one.constraint): one for one in violations}
    for stage in stages:
        found = [by_rule[rule] for rule in stage if rule in by_rule]
        if found:
            return found
    return violations


def envelope(texts: list[str]) -> str:
    """Join the sentences of violations to one message, which counts and lists the first ten at most."""
    texts = texts[:CONSTRAINT_ERRORS_MAX]
    errors = messages.ERROR_SEPARATOR.join(texts)
    if len(texts) == 1:
        return messages.ONE_ERROR.format(errors=errors)
    return messages.SEVERAL_ERRORS.format(count=len(texts), errors=errors)


def _structure_violations(value: dict[str, Any], shape: Shape, place: MemberPlace) -> Iterator[Violation]:
    """Yield a structure's violations, member by member in declared order: the member's own, then those inside it."""
    dot = "." if place.path else ""
    for name, inner, is_required in shape.members:
        member = value.get(name)
        if (not is_required) if member is None else _is_sound(member, inner):
            continue
        here = _below(place, dot + lower_camel(name))
        if member is not None:
            yield from _value_violations(member, inner, here)
        else:
            yield Violation(here, "required", None, inner, messages.NOT_NULL)


def _value_violations(value: Any, shape: Shape, place: MemberPlace) -> Iterator[Violation]:
    """Yield a value's own violations, then those of the values inside it."""
    yield from _own_violations(value, shape, place)
    if shape.kind == "Map":
        yield from _map_violations(value, shape, place)
    yield from _inner_violations(value, shape, place)


def _inner_violations(value: Any, shape: Shape, place: MemberPlace) -> Iterator[Violation]:
    """Yield the violations inside a value; for a list or map, at most CONSTRAINT_ERRORS_MAX."""
    match shape.kind:
        case "Structure":
            yield from _structure_violations(value, shape, place)
        case "List" | "Map":
            if _are_sound(value, shape.element):
                return
            violations = _list_violations if shape.kind == "List" else _map_value_violations
            yield from islice(violations(value, shape.element, place), CONSTRAINT_ERRORS_MAX)


def _list_violations(value: list[Any], member: Shape, place: MemberPlace) -> Iterator[Violation]:
    """Yield the violations of a list's members."""
    for position, element in enumerate(walk(value), start=1):
        if not _is_sound(element, member):
            yield from _value_violations(element, member, _below(place, f".{position}.member"))


def _map_value_violations(value: dict[str, Any], member: Shape, place: MemberPlace) -> Iterator[Violation]:
    """Yield the violations of a map's values; if they are lists, only of their members (see `_map_violations`)."""
    violations = _inner_violations if member.kind == "List" else _value_violations
    for key, element in walk(value.items()):
        if not _is_sound(element, member):
            shown = path_key(key)
            here = MemberPlace(f"{place.path}.{shown}.member", place.path_pattern + ".{key}.member", shown)
            yield from violations(element, member, here)


def _is_sound(value: Any, shape: Shape) -> bool:
    """True if a value has no constraints, or is a scalar that keeps them; False may mean *unknown*."""
    if shape.is_free:
        return True
    if shape.kind in ("Structure", "List", "Map"):
        return False
    return next(_own_violations(value, shape, MemberPlace()), None) is None


def _are_sound(value: list[Any] | dict[str, Any], member: Shape) -> bool:
    """True if a list's or map's members have no constraints, or are texts with only length bounds and keep these.

    False may mean *unknown*.
    """
    if member.is_free or not value:
        return True
    bounds = member.bounds
    if member.kind != "String" or bounds != Bounds(min_length=bounds.min_length, max_length=bounds.max_length):
        return False
    texts = value.values() if isinstance(value, dict) else value
    lengths = {length for some in batches(texts) for length in set(map(len, some))}
    return (bounds.min_length or 0) <= min(lengths) and (bounds.max_length is None or max(lengths) <= bounds.max_length)


def _below(place: MemberPlace, step: str) -> MemberPlace:
    return MemberPlace(place.path + step, place.path_pattern + step, place.key)


def _own_violations(value: Any, shape: Shape, place: MemberPlace) -> Iterator[Violation]:
    """Yield the value's own violations: pattern, least length, greatest length, minimum, maximum, enumeration."""
    bounds = shape.bounds
    if bounds.pattern is not None and not _matches(value, bounds):
        yield Violation(place, "pattern", value, shape, messages.PATTERN, bounds.pattern)
    length_max = shape.length_max
    if length_max is not None or bounds.min_length is not None:
        length = len(value)
        if bounds.min_length is not None and length < bounds.min_length:
            yield Violation(place, "min_length", value, shape, messages.LENGTH_AT_LEAST, bounds.min_length)
        elif bounds.name_min_length is not None and length < bounds.name_min_length:
            yield Violation(place, "name_min_length", value, shape, messages.LENGTH_AT_LEAST, bounds.name_min_length)
        if bounds.name_max_length is not None and length > bounds.name_max_length and not value.startswith(_ARN_START):
            length_max = bounds.name_max_length
        if length_max is not None and length > length_max:
            yield Violation(place, "max_length", value, shape, messages.LENGTH_AT_MOST, length_max)
    if bounds.minimum is not None and value < bounds.minimum:
        yield Violation(place, "minimum", value, shape, messages.VALUE_AT_LEAST, bounds.minimum)
    if bounds.maximum is not None and value > bounds.maximum:
        yield Violation(place, "maximum", value, shape, messages.VALUE_AT_MOST, bounds.maximum)
    if bounds.enumeration and value not in bounds.enumeration:
        yield Violation(place, "enumeration", value, shape, messages.ENUM, ", ".join(bounds.enumeration))


def _map_violations(value: dict[str, Any], shape: Shape, place: MemberPlace) -> Iterator[Violation]:
    """Yield one violation for all bad keys of a map, then one for all bad values that are lists.

    Values that are not lists are reported at their own paths (`_map_value_violations`).
    """
    keys, member = shape.keys, shape.element
    if keys is not None and not all(_is_within(key, keys) for key in walk(value)):
        yield Violation(place, "keys", value, shape, messages.MAP_KEYS, _described(keys))
    if member.kind == "List" and not all(_is_within(element, member.bounds) for element in value.values()):
        yield Violation(place, "values", value, shape, messages.MAP_VALUES, _described(member.bounds))


def _is_within(value: Any, bounds: Bounds) -> bool:
    """True if a text or list has an allowed length and matches the pattern, if any; allowed ARNs need not."""
    length = len(value)
    return (
        (bounds.min_length is None or length >= bounds.min_length)
        and (bounds.max_length is None or length <= bounds.max_length)
        and (bounds.name_max_length is None or length <= bounds.name_max_length or value.startswith(_ARN_START))
        and (bounds.pattern is None or _matches(value, bounds))
    )


def _described(bounds: Bounds) -> str:
    """The length bounds and the pattern of a map's keys or values, as messages list them."""
    listed = (
        (messages.LENGTH_AT_MOST, bounds.name_max_length or bounds.max_length),
        (messages.LENGTH_AT_LEAST, bounds.min_length),
        (messages.PATTERN, bounds.pattern),
    )
    return ", ".join([sentence.format(bound=bound) for sentence, bound in listed if bound is not None])


def _matches(value: Any, bounds: Bounds) -> bool:
    assert bounds.pattern is not None
    if bounds.is_arn_allowed and value.startswith(_ARN_START):
        return True
    if bounds.pattern == BUCKET_PATTERN:
        is_enclosed = len(value) > 1 and all(map(_is_bucket_end, (value[0], value[-1])))
        return is_enclosed and _matches_in_pieces(_BUCKET_CHARACTERS, value)
    if len(value) <= _PIECE_CHARACTERS:
        return re.fullmatch(bounds.pattern, value) is not None
    return _matches_in_pieces(bounds.pattern, value)


def _matches_in_pieces(pattern: str, text: str) -> bool:
    """True if a long text matches, checked in pieces: 1 MB at once would take up to 34 ms.

    A text matches if its pieces do, because every pattern repeats a unit whose length divides that of a piece.
    """
    for start in range(0, len(text), _PIECE_CHARACTERS):
        spend(_PIECE_STEPS)
        if re.fullmatch(pattern, text[start : start + _PIECE_CHARACTERS]) is None:
            return False
    return True
