"""How does a permission become a statement of a resource-based policy?
As Lambda writes them; nothing here enforces them.

Source: Lambda's developer guide, *Viewing resource-based IAM policies*; patterns are those of the service model.
An alias or a version has a policy of its own in the service; here, `$LATEST` shares the function's.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from hashrange.functions.description import FunctionDescription
from hashrange.functions.refusals import constraint_refusal, parameter_refusal, revision_refusal
from hashrange.messages import functions_api as say
from hashrange.messages import requests

_PATTERNS = {
    "statement_id": ("statementId", r"([a-zA-Z0-9-_]+)"),
    "action": ("action", r"(lambda:[*]|lambda:[a-zA-Z]+|[*])"),
    "principal": ("principal", r"[^\s]+"),
    "source_arn": (
        "sourceArn",
        (
            r"arn:(aws[a-zA-Z0-9-]*):([a-zA-Z0-9\-])+:((eusc-)?[a-z]{2}((-gov)|"
            r"(-iso([a-z]?)))?-[a-z]+-\d{1})?:(\d{12})?:(.*)"
        ),
    ),
    "source_account": ("sourceAccount", r"\d{12}"),
    "event_source_token": ("eventSourceToken", r"[a-zA-Z0-9._\-]+"),
    "organization_id": ("principalOrgID", r"o-[a-z0-9]{10,32}"),
}
"""Member → its name in messages, and its pattern."""
_is_account = re.compile(r"\d{12}", re.ASCII).fullmatch
_is_service = re.compile(r"[a-z0-9.-]+\.amazonaws\.com(\.cn)?").fullmatch
_is_principal_arn = re.compile(r"arn:aws[a-zA-Z-]*:(iam|sts)::\d{12}:.+", re.ASCII).fullmatch


class StatementMembers(NamedTuple):
    """The members of AddPermission that make a statement; None if the request lacks one."""

    statement_id: str
    action: str
    principal: str
    source_arn: str | None = None
    source_account: str | None = None
    event_source_token: str | None = None
    organization_id: str | None = None
    url_auth_type: str | None = None
    is_via_url: bool | None = None


def check_permission(given: StatementMembers) -> None:
    """Raise LambdaError for the first member that breaks its pattern, then for a principal that cannot be one."""
    for member, (shown, pattern) in _PATTERNS.items():
        text = getattr(given, member)
        if text is not None and not re.fullmatch(pattern, text, re.ASCII):
            raise constraint_refusal(shown, text, requests.PATTERN.format(bound=pattern))
    if not _principal_of(given.principal):
        raise parameter_refusal(say.PRINCIPAL_INVALID)


def _principal_of(text: str) -> str | dict[str, str] | None:
    """The Principal of a statement; None if the text names none."""
    if text == "*":
        return text
    if _is_account(text):
        return {"AWS": f"arn:aws:iam::{text}:root"}
    if _is_principal_arn(text):
        return {"AWS": text}
    return {"Service": text} if _is_service(text) else None


def make_statement(given: StatementMembers, resource_arn: str) -> dict[str, Any]:
    """The statement."""
    statement: dict[str, Any] = {
        "Sid": given.statement_id,
        "Effect": "Allow",
        "Principal": _principal_of(given.principal),
        "Action": given.action,
        "Resource": resource_arn,
    }
    equals = {
        "AWS:SourceAccount": given.source_account,
        "lambda:EventSourceToken": given.event_source_token,
        "lambda:FunctionUrlAuthType": given.url_auth_type,
        "aws:PrincipalOrgID": given.organization_id,
    }
    condition: dict[str, Any] = {}
    if given_equals := {name: value for name, value in equals.items() if value is not None}:
        condition["StringEquals"] = given_equals
    if given.source_arn is not None:
        condition["ArnLike"] = {"AWS:SourceArn": given.source_arn}
    if given.is_via_url is not None:
        condition["Bool"] = {"lambda:InvokedViaFunctionUrl": str(given.is_via_url).lower()}
    return statement | {"Condition": condition} if condition else statement


def policy_text(statements: Sequence[Mapping[str, Any]]) -> str:
    """A policy as JSON text."""
    return msgspec.json.encode({"Version": "2012-10-17", "Id": "default", "Statement": statements}).decode()


def require_policy_revision(description: FunctionDescription, revision_id: str | None) -> None:
    """Raise LambdaError unless the policy still has the revision that the request expects, if it expects one."""
    if revision_id not in {None, description.policy_revision_id}:
        raise revision_refusal(say.POLICY_REVISION)
