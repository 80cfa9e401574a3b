"""Which members break a declared constraint, in the order in which the service reports them? All, as one message.

Bounds come from the request struct (`wire.shape`); the forms in which single operations differ from the general
sentence are the table `SPECIAL_FORMS`. Values have passed the check of their JSON types (`wire.jsontypes`).
Source: service behaviour, captures to October 2026.
"""

import re
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

from hashrange.errors import ValidationException
from hashrange.limits import CONSTRAINT_ERRORS_MAX
from hashrange.messages import requests as messages
from hashrange.wire.render import lower_camel, render_value
from hashrange.wire.shape import Shape

Constraint = Literal["required", "pattern", "min_length", "max_length", "minimum", "maximum", "enumeration"]


class Violation(NamedTuple):
    """One broken constraint; `text` is the general sentence."""

    path: str
    constraint: Constraint
    text: str


class SpecialForm(NamedTuple):
    """How an operation words one constraint of one member."""

    text: str
    is_alone: bool = False
    """Reported without the other violations."""
    is_bare: bool = False
    """Outside the envelope, and so alone; before everything else."""


_TABLE_NAME_EMPTY = SpecialForm(messages.TABLE_NAME_EMPTY, is_alone=True)
_CONDITIONAL_OPERATOR = SpecialForm(messages.CONDITIONAL_OPERATOR_UNKNOWN, is_bare=True)

SPECIAL_FORMS: dict[tuple[str, str, Constraint], SpecialForm] = {
    ("PutItem", "tableName", "min_length"): _TABLE_NAME_EMPTY,
    ("GetItem", "tableName", "min_length"): _TABLE_NAME_EMPTY,
    ("UpdateItem", "tableName", "min_length"): _TABLE_NAME_EMPTY,
    ("DeleteItem", "tableName", "min_length"): _TABLE_NAME_EMPTY,
    ("Query", "tableName", "min_length"): _TABLE_NAME_EMPTY,
    ("Scan", "tableName", "min_length"): _TABLE_NAME_EMPTY,
    ("PutItem", "returnValues", "enumeration"): SpecialForm(messages.RETURN_VALUES_UNKNOWN),
    ("DeleteItem", "returnValues", "enumeration"): SpecialForm(messages.RETURN_VALUES_UNKNOWN),
    ("UpdateItem", "returnValues", "enumeration"): SpecialForm(messages.RETURN_VALUES_UNKNOWN, is_alone=True),
    ("PutItem", "conditionalOperator", "enumeration"): _CONDITIONAL_OPERATOR,
    ("DeleteItem", "conditionalOperator", "enumeration"): _CONDITIONAL_OPERATOR,
    ("UpdateItem", "conditionalOperator", "enumeration"): _CONDITIONAL_OPERATOR,
    ("Query", "conditionalOperator", "enumeration"): _CONDITIONAL_OPERATOR,
    ("Query", "limit", "minimum"): SpecialForm(messages.QUERY_LIMIT),
}
"""(operation, path, constraint) → the newer form. Scan keeps the general sentences, but for the table's name."""


def check_constraints(request: dict[str, Any], shape: Shape, operation_name: str) -> None:
    """Raise ValidationException with every broken constraint of the request, ten at most."""
    violations = list(_structure_violations(request, shape, ""))
    if violations:
        raise ValidationException(_report(violations, operation_name))


def _report(violations: list[Violation], operation_name: str) -> str:
    """The reply's message. When the key is missing too, the operation falls back to the general sentences."""
    is_key_missing = any(path == "key" and constraint == "required" for path, constraint, _ in violations)
    texts = []
    alone = None
    for path, constraint, text in violations:
        form = None if is_key_missing else SPECIAL_FORMS.get((operation_name, path, constraint))
        if form is None:
            texts.append(text)
        elif form.is_bare:
            return form.text
        else:
            texts.append(form.text)
            if form.is_alone and alone is None:
                alone = form.text
    return envelope(texts if alone is None else [alone])


def envelope(texts: list[str]) -> str:
    """Collected constraints as one message; no more than ten are counted and listed."""
    texts = texts[:CONSTRAINT_ERRORS_MAX]
    errors = messages.ERROR_SEPARATOR.join(texts)
    if len(texts) == 1:
        return messages.ONE_ERROR.format(errors=errors)
    return messages.SEVERAL_ERRORS.format(count=len(texts), errors=errors)


def _structure_violations(value: dict[str, Any], shape: Shape, prefix: str) -> Iterator[Violation]:
    """Each member's own constraints, then those inside it, member by member as declared."""
    for name, inner, is_required in shape.members:
        path = prefix + lower_camel(name)
        member = value.get(name)
        if member is not None:
            yield from _value_violations(member, inner, path)
        elif is_required:
            yield _violation(path, "required", None, inner, messages.NOT_NULL)


def _value_violations(value: Any, shape: Shape, path: str) -> Iterator[Violation]:
    """The value's own constraints, then those of its members."""
    yield from _own_violations(value, shape, path)
    match shape.kind:
        case "Structure":
            yield from _structure_violations(value, shape, path + ".")
        case "List":
            assert shape.member is not None
            for position, element in enumerate(value, start=1):
                yield from _value_violations(element, shape.member, f"{path}.{position}.member")
        case "Map":
            assert shape.member is not None
            for key, element in value.items():
                yield from _value_violations(element, shape.member, f"{path}.{key}.member")


def _own_violations(value: Any, shape: Shape, path: str) -> Iterator[Violation]:
    """In the order: pattern, least length, greatest length, least value, greatest value, enumeration."""
    bounds = shape.bounds
    if bounds.pattern is not None and not _matches(value, bounds.pattern, bounds.is_arn_allowed):
        yield _violation(path, "pattern", value, shape, messages.PATTERN, bounds.pattern)
    if bounds.min_length is not None and len(value) < bounds.min_length:
        yield _violation(path, "min_length", value, shape, messages.LENGTH_AT_LEAST, bounds.min_length)
    if bounds.max_length is not None and len(value) > bounds.max_length:
        yield _violation(path, "max_length", value, shape, messages.LENGTH_AT_MOST, bounds.max_length)
    if bounds.minimum is not None and value < bounds.minimum:
        yield _violation(path, "minimum", value, shape, messages.VALUE_AT_LEAST, bounds.minimum)
    if bounds.maximum is not None and value > bounds.maximum:
        yield _violation(path, "maximum", value, shape, messages.VALUE_AT_MOST, bounds.maximum)
    if bounds.enumeration and value not in bounds.enumeration:
        yield _violation(path, "enumeration", value, shape, messages.ENUM, ", ".join(bounds.enumeration))


def _matches(value: str, pattern: str, is_arn_allowed: bool) -> bool:
    return (is_arn_allowed and value.startswith("arn:")) or re.fullmatch(pattern, value) is not None


def _violation(
    path: str, constraint: Constraint, value: Any, shape: Shape, sentence: str, bound: object = None
) -> Violation:
    text = messages.VIOLATION.format(
        value=render_value(value, shape), path=path, constraint=sentence.format(bound=bound)
    )
    return Violation(path, constraint, text)
