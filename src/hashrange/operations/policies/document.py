"""What does a resource policy say? Its JSON is parsed, checked and brought into canonical form.

The service stores this form, and equal forms are the same policy: members of document and statements in a fixed order,
no blanks, a list of one element as that element, accounts as their root ARN, a single statement as a list. A document
without a Version is stored without one and returned with Version 2008-10-17. Order of checks: size → JSON → unknown
elements → Version → Id → statements → statement ids. Source: service behaviour, captures of October 2026.

Order of checks of a statement: all elements are known → Sid → Effect → Principal → Action → Resource → Condition →
action names → resources fit the policy's kind → no unconditional Allow for everybody. Sid, Action and Resource keep
their text; a list of one element becomes that element. A Principal is `"*"`, or a map from a kind of principal to one
or several names. An account's number becomes the ARN of its root; repeated names are dropped; a principal need not
exist.
"""

import re
from typing import Any, Literal

import msgspec

from hashrange.errors import ValidationException
from hashrange.limits import RESOURCE_POLICY_MAX_BYTES
from hashrange.messages import policies as say

ResourceKind = Literal["table", "stream"]
PolicyStatement = dict[str, Any]
Document = dict[str, Any]
"""A canonical document: Version and Id where given, Statement as a list."""

_VERSIONS = ("2012-10-17", "2008-10-17")
_VERSION_START = '{"Version":'
_SHOWN_WITHOUT_VERSION = '{"Version":"2008-10-17",'
_MEMBERS = ("Version", "Id", "Statement")


def read_document(text: str, kind: ResourceKind) -> Document:
    """The canonical document of a table's or stream's policy; raises ValidationException for the first fault."""
    raw = text.encode("utf-8", "surrogatepass")
    if len(raw) > RESOURCE_POLICY_MAX_BYTES:
        raise ValidationException(say.DOCUMENT_TOO_LARGE.format(limit=RESOURCE_POLICY_MAX_BYTES))
    given = _decode(raw)
    unknown = given.keys() - set(_MEMBERS)
    if unknown:
        raise ValidationException(say.ELEMENT_UNKNOWN.format(element=min(unknown)))
    document: Document = {}
    if "Version" in given:
        if given["Version"] not in _VERSIONS:
            raise ValidationException(say.VERSION_INVALID)
        document["Version"] = given["Version"]
    if "Id" in given:
        if not isinstance(given["Id"], str):
            raise ValidationException(say.ELEMENT_INVALID.format(element="Id"))
        document["Id"] = given["Id"]
    statements = given.get("Statement") or []
    if not isinstance(statements, list):
        statements = [statements]
    if not statements:
        raise ValidationException(say.STATEMENT_EMPTY)
    document["Statement"] = [read_policy_statement(statement, kind) for statement in statements]
    ids = [statement["Sid"] for statement in document["Statement"] if "Sid" in statement]
    if len(set(ids)) < len(ids):
        raise ValidationException(say.STATEMENT_IDS_REPEATED)
    return document


def stored_form(document: Document) -> str:
    """The stored policy text; equal texts are the same policy."""
    return msgspec.json.encode(document).decode()


def shown_form(stored: str) -> str:
    """The policy text that GetResourcePolicy returns, made from the stored text."""
    return stored if stored.startswith(_VERSION_START) else _SHOWN_WITHOUT_VERSION + stored[1:]


def _decode(raw: bytes) -> dict[str, Any]:
    try:
        given = msgspec.json.decode(raw)
    except (msgspec.DecodeError, ValueError, RecursionError):
        raise ValidationException(say.DOCUMENT_NOT_JSON) from None
    if given is None:
        raise ValidationException(say.DOCUMENT_NOT_POLICY)
    if not isinstance(given, dict):
        raise ValidationException(say.DOCUMENT_NOT_JSON)
    if not given:
        lines = raw.decode("utf-8", "replace").rstrip().split("\n")
        raise ValidationException(say.DOCUMENT_EMPTY.format(line=len(lines), column=len(lines[-1]) + 1))
    return given


# --- statements -----------------------------------------------------------------------------------


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


# --- principals -----------------------------------------------------------------------------------


Principal = str | dict[str, str | list[str]]
EVERYBODY = "*"
_KINDS = ("AWS", "Service", "Federated", "CanonicalUser")
_ACCOUNT = re.compile("[0-9]{12}").fullmatch
_AWS_NAME = re.compile(r"arn:aws[a-z-]*:(?:iam|sts)::[0-9]{12}:.+|A[A-Z0-9]{15,}", re.DOTALL).fullmatch
"""Matches the ARN of an account's root or of a user, role or session, and the unique id of a deleted principal."""


def root_of(account: str) -> str:
    """The ARN that stands for a whole account."""
    return f"arn:aws:iam::{account}:root"


def read_principal(given: object) -> Principal:
    """The canonical form of a Principal element; raises ValidationException for its first fault."""
    if given == EVERYBODY:
        return EVERYBODY
    if not isinstance(given, dict) or not given:
        raise ValidationException(say.PRINCIPAL_INVALID)
    principal: dict[str, str | list[str]] = {}
    for kind, names in given.items():
        several = names if isinstance(names, list) else [names]
        if kind not in _KINDS or not several:
            raise ValidationException(say.PRINCIPAL_INVALID)
        canonical = list(dict.fromkeys(_name(kind, name) for name in several))
        principal[kind] = canonical[0] if len(canonical) == 1 else canonical
    return principal


def is_everybody(principal: Principal | None) -> bool:
    """True if the principal includes every AWS account; False for None (the statement has no Principal)."""
    if principal is None or isinstance(principal, str):
        return principal == EVERYBODY
    return EVERYBODY in as_list(principal.get("AWS", []))


def names_account(principal: Principal, account: str) -> bool:
    """True if the principal includes the account as a whole."""
    if is_everybody(principal):
        return True
    assert isinstance(principal, dict), "no other string is canonical"
    return root_of(account) in as_list(principal.get("AWS", []))


def _name(kind: str, name: object) -> str:
    if not isinstance(name, str) or not name:
        raise ValidationException(say.PRINCIPAL_INVALID)
    if kind != "AWS" or name == EVERYBODY:
        return name
    if _ACCOUNT(name):
        return root_of(name)
    if not _AWS_NAME(name):
        raise ValidationException(say.PRINCIPAL_INVALID)
    return name
