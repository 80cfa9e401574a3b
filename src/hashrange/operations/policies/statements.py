"""What does one statement of a resource policy say? The decoded statement is checked and brought into canonical form.

Order of checks: all elements are known → Sid → Effect → Principal → Action → Resource → Condition → action names →
resources fit the policy's kind → no unconditional Allow for everybody. Sid, Action and Resource keep their text; a list
of one element becomes that element. Source: service behaviour, captures of October 2026.
"""

import re
from typing import Any, Literal

from hashrange.errors import ValidationException
from hashrange.messages import policies as say
from hashrange.operations.policies.principals import is_everybody, read_principal

ResourceKind = Literal["table", "stream"]
PolicyStatement = dict[str, Any]

_ELEMENTS = (
    "Sid",
    "Effect",
    "Principal",
    "NotPrincipal",
    "Action",
    "NotAction",
    "Resource",
    "NotResource",
    "Condition",
)
_EFFECTS = {"allow": "Allow", "deny": "Deny"}
_ACTION = re.compile(r"dynamodb:([a-z*?]+)").fullmatch
_ARN = re.compile(r"arn:[^:]*:[^:]*:[^:]*:[^:]*:(.+)", re.DOTALL).fullmatch
_STREAM_ACTIONS = {"describestream", "getrecords", "getsharditerator"}
_POLICY_ACTIONS = {"getresourcepolicy", "putresourcepolicy", "deleteresourcepolicy"}
_ACCOUNT_ACTIONS = {"liststreams"}
"""The actions on an account that every resource policy refuses; others, such as ListTables, are allowed."""


def as_list(value: str | list[str]) -> list[str]:
    """One or several strings, as a list."""
    return [value] if isinstance(value, str) else value


def patterns_of(statement: PolicyStatement, element: str) -> list[str]:
    """The patterns in `element` (Action or Resource), or in its Not… form, whichever the statement has."""
    return as_list(statement[element if element in statement else "Not" + element])


def read_policy_statement(given: object, kind: ResourceKind) -> PolicyStatement:
    """The canonical statement for a policy of a table or stream; raises ValidationException for the first fault."""
    if not isinstance(given, dict):
        raise ValidationException(say.ELEMENT_INVALID.format(element="Statement"))
    unknown = given.keys() - set(_ELEMENTS)
    if unknown:
        raise ValidationException(say.ELEMENT_UNKNOWN.format(element=min(unknown)))
    statement: PolicyStatement = {}
    if "Sid" in given:
        statement["Sid"] = _text(given["Sid"], "Sid")
    effect = _EFFECTS.get(_text(_required(given, "Effect"), "Effect").lower())
    if effect is None:
        raise ValidationException(say.ELEMENT_INVALID.format(element="Effect"))
    statement["Effect"] = effect
    name = _either(given, "Principal")
    statement[name] = read_principal(given[name])
    for element in ("Action", "Resource"):
        name = _either(given, element)
        statement[name] = _texts(given[name], name)
    if "Condition" in given:
        statement["Condition"] = _condition(given["Condition"])
    _check_actions(statement, kind)
    _check_resources(statement, kind)
    if effect == "Allow" and "Condition" not in statement and is_everybody(statement.get("Principal")):
        raise ValidationException(say.UNBOUNDED)
    return statement


def _required(given: dict[str, Any], element: str) -> Any:
    if element not in given:
        raise ValidationException(say.FIELD_MISSING.format(field=element))
    return given[element]


def _either(given: dict[str, Any], element: str) -> str:
    """The name under which the element is given, its own or its Not… form.

    Raises ValidationException unless exactly one of the two is given.
    """
    negation = "Not" + element
    if negation in given:
        if element in given:
            raise ValidationException(say.ELEMENT_INVALID.format(element=negation))
        return negation
    _required(given, element)
    return element


def _text(value: object, element: str) -> str:
    if not isinstance(value, str):
        raise ValidationException(say.ELEMENT_INVALID.format(element=element))
    return value


def _texts(value: object, element: str) -> str | list[str]:
    """An element's string, or its list of several strings; a list of one becomes its string."""
    if not isinstance(value, list):
        return _text(value, element)
    if not value:
        raise ValidationException(say.ELEMENT_INVALID.format(element=element))
    texts = [_text(one, element) for one in value]
    return texts[0] if len(texts) == 1 else texts


def _condition(given: object) -> dict[str, Any]:
    """A canonical Condition: operator → key → value or list of values, all as strings."""
    if not isinstance(given, dict) or not all(isinstance(keys, dict) for keys in given.values()):
        raise ValidationException(say.ELEMENT_INVALID.format(element="Condition"))
    return {
        operator: {key: _texts(_as_text(value), "Condition") for key, value in keys.items()}
        for operator, keys in given.items()
    }


def _as_text(value: object) -> object:
    """A value in a Condition, with Booleans and numbers as strings."""
    if isinstance(value, list):
        return [_as_text(one) for one in value]
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int | float) else value


def _check_actions(statement: PolicyStatement, kind: ResourceKind) -> None:
    """Refuse actions of other services, ListStreams and, in a table's policy, the actions on streams.

    Wildcards and unknown names of letters are allowed.
    """
    actions = patterns_of(statement, "Action")
    refused = _ACCOUNT_ACTIONS | _STREAM_ACTIONS if kind == "table" else _ACCOUNT_ACTIONS
    invalid = []
    for action in actions:
        match = _ACTION(action.lower())
        if action != "*" and (match is None or match[1] in refused):
            invalid.append(f'"{action}"')
    if invalid:
        raise ValidationException(say.ACTIONS_INVALID.format(names=", ".join(invalid)))


def _check_resources(statement: PolicyStatement, kind: ResourceKind) -> None:
    """Refuse all but `*` and ARNs; refuse ARNs of streams in a table's policy, all other ARNs in a stream's policy.

    In a stream's policy, an ARN with `*` in its last part is allowed too, but every ARN is refused if the statement
    has an action on tables. The resources need not exist.
    """
    has_table_actions = any(
        name not in _STREAM_ACTIONS | _POLICY_ACTIONS and "*" not in name and "?" not in name
        for name in (action.lower().removeprefix("dynamodb:") for action in as_list(statement.get("Action", [])))
    )
    for resource in patterns_of(statement, "Resource"):
        if resource == "*":
            continue
        match = _ARN(resource)
        if match is None:
            raise ValidationException(say.RESOURCE_NOT_ARN.format(resource=resource))
        relative_id: str = match[1]
        is_stream = "/stream/" in relative_id
        if kind == "table":
            is_fit = not is_stream
        else:
            is_fit = (is_stream or "*" in relative_id) and not has_table_actions
        if not is_fit:
            raise ValidationException(say.RESOURCE_INVALID.format(relative_id=relative_id, arn=resource))
