"""What does a resource policy say? Its JSON is parsed, checked and brought into canonical form.

The service stores this form, and equal forms are the same policy: members of document and statements in a fixed order,
no blanks, a list of one element as that element, accounts as their root ARN, a single statement as a list. A document
without a Version is stored without one and returned with Version 2008-10-17. Order of checks: size → JSON → unknown
elements → Version → Id → statements (each by `read_policy_statement`) → statement ids. Source: service behaviour,
captures of October 2026.
"""

from typing import Any

import msgspec

from hashrange.errors import ValidationException
from hashrange.limits import RESOURCE_POLICY_MAX_BYTES
from hashrange.messages import policies as say
from hashrange.operations.policies.statements import ResourceKind, read_policy_statement

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
