"""The operations on a function's resource-based policy: AddPermission, RemovePermission, GetPolicy.
Nothing here enforces policies.

Source: Lambda's developer guide, *Viewing resource-based IAM policies*; patterns are those of the service model.
An alias or a version has a policy of its own in the service; here, `$LATEST` shares the function's.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from hashrange.aws_services.operation import Caller
from hashrange.functions.api import members
from hashrange.functions.api.configurations import QualifiedRequest
from hashrange.functions.api.operation import LambdaError, rest_operation
from hashrange.functions.description import FunctionDescription, new_uuid
from hashrange.functions.functions import Functions
from hashrange.functions.names import read_reference
from hashrange.functions.refusals import FunctionMissing, conflict_refusal, constraint_refusal, parameter_refusal
from hashrange.limits import FUNCTION_POLICY_BYTES_MAX
from hashrange.messages import functions_api as say
from hashrange.messages import requests
from hashrange.wire.render import lower_camel

_PATTERNS = {
    "StatementId": r"([a-zA-Z0-9-_]+)",
    "Action": r"(lambda:[*]|lambda:[a-zA-Z]+|[*])",
    "Principal": r"[^\s]+",
    "SourceArn": (
        r"arn:(aws[a-zA-Z0-9-]*):([a-zA-Z0-9\-])+:((eusc-)?[a-z]{2}((-gov)|"
        r"(-iso([a-z]?)))?-[a-z]+-\d{1})?:(\d{12})?:(.*)"
    ),
    "SourceAccount": r"\d{12}",
    "EventSourceToken": r"[a-zA-Z0-9._\-]+",
    "PrincipalOrgID": r"o-[a-z0-9]{10,32}",
}
"""Member of AddPermission → its pattern."""
_is_account = re.compile(r"\d{12}", re.ASCII).fullmatch
_is_service = re.compile(r"[a-z0-9.-]+\.amazonaws\.com(\.cn)?").fullmatch
_is_principal_arn = re.compile(r"arn:aws[a-zA-Z-]*:(iam|sts)::\d{12}:.+", re.ASCII).fullmatch


class AddPermissionRequest(members.FunctionRequest, frozen=True, kw_only=True, gc=False):
    """A function and a statement."""

    StatementId: Annotated[str, Meta(min_length=1, max_length=100)]
    Action: Annotated[str, Meta(max_length=10_000)]
    Principal: Annotated[str, Meta(max_length=2048)]
    SourceArn: Annotated[str, Meta(max_length=10_000)] | None = None
    FunctionUrlAuthType: Literal["NONE", "AWS_IAM"] | None = None
    InvokedViaFunctionUrl: bool | None = None
    SourceAccount: Annotated[str, Meta(max_length=12)] | None = None
    EventSourceToken: Annotated[str, Meta(max_length=256)] | None = None
    Qualifier: members.Qualifier | None = None
    RevisionId: str | None = None
    PrincipalOrgID: Annotated[str, Meta(min_length=12, max_length=34)] | None = None


def check_permission(request: AddPermissionRequest) -> None:
    """Raise LambdaError for the first member that breaks its pattern, then for a principal that cannot be one."""
    for member, pattern in _PATTERNS.items():
        text = getattr(request, member)
        if text is not None and not re.fullmatch(pattern, text, re.ASCII):
            raise constraint_refusal(lower_camel(member), text, requests.PATTERN.format(bound=pattern))
    if not _principal_of(request.Principal):
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


def make_statement(request: AddPermissionRequest, resource_arn: str) -> dict[str, Any]:
    """The statement."""
    statement: dict[str, Any] = {
        "Sid": request.StatementId,
        "Effect": "Allow",
        "Principal": _principal_of(request.Principal),
        "Action": request.Action,
        "Resource": resource_arn,
    }
    equals = {
        "AWS:SourceAccount": request.SourceAccount,
        "lambda:EventSourceToken": request.EventSourceToken,
        "lambda:FunctionUrlAuthType": request.FunctionUrlAuthType,
        "aws:PrincipalOrgID": request.PrincipalOrgID,
    }
    condition: dict[str, Any] = {}
    if given_equals := {name: value for name, value in equals.items() if value is not None}:
        condition["StringEquals"] = given_equals
    if request.SourceArn is not None:
        condition["ArnLike"] = {"AWS:SourceArn": request.SourceArn}
    if request.InvokedViaFunctionUrl is not None:
        condition["Bool"] = {"lambda:InvokedViaFunctionUrl": str(request.InvokedViaFunctionUrl).lower()}
    return statement | {"Condition": condition} if condition else statement


def policy_text(statements: Sequence[Mapping[str, Any]]) -> str:
    """A policy as JSON text."""
    return msgspec.json.encode({"Version": "2012-10-17", "Id": "default", "Statement": statements}).decode()


# --- operations -----------------------------------------------------------------------------------


async def add_permission(functions: Functions, caller: Caller, request: AddPermissionRequest) -> Mapping[str, Any]:
    """AddPermission: add a statement to a function's policy. It is stored and returned;
    whoever reaches the server may invoke.

    Order of checks: member constraints (the protocol) → the function exists → patterns of members → RevisionId → the
    statement exists → the policy's length.

    Store the statement, and return it as JSON text.
    """
    description = functions.find(request.FunctionName, caller, request.Qualifier)
    check_permission(request)
    resource_arn = read_reference(request.FunctionName, caller, request.Qualifier).arn
    statement = make_statement(request, resource_arn)

    def add(current: FunctionDescription) -> FunctionDescription:
        members.require_revision(current.policy_revision_id, request.RevisionId, say.POLICY_REVISION)
        if any(one["Sid"] == request.StatementId for one in current.statements):
            raise conflict_refusal(say.STATEMENT_EXISTS.format(statement_id=request.StatementId))
        statements = (*current.statements, statement)
        size_bytes = len(policy_text(statements).encode())
        if size_bytes > FUNCTION_POLICY_BYTES_MAX:
            message = say.POLICY_TOO_LONG.format(size_bytes=size_bytes, most_bytes=FUNCTION_POLICY_BYTES_MAX)
            raise LambdaError(400, "PolicyLengthExceededException", message)
        return msgspec.structs.replace(current, statements=statements, policy_revision_id=new_uuid())

    await functions.change(description, add)
    return {"Statement": msgspec.json.encode(statement).decode()}


class RemovePermissionRequest(members.FunctionRequest, frozen=True, kw_only=True, gc=False):
    """A function and the id of a statement."""

    StatementId: Annotated[str, Meta(min_length=1, max_length=100)]
    Qualifier: members.Qualifier | None = None
    RevisionId: str | None = None


async def remove_permission(functions: Functions, caller: Caller, request: RemovePermissionRequest) -> None:
    """RemovePermission: take a statement out of a function's policy.

    Store the other statements.
    """
    description = functions.find(request.FunctionName, caller, request.Qualifier)

    def remove(current: FunctionDescription) -> FunctionDescription:
        statements = tuple([one for one in current.statements if one["Sid"] != request.StatementId])
        if len(statements) == len(current.statements):
            raise FunctionMissing(say.STATEMENT_MISSING.format(statement_id=say.cut(request.StatementId)))
        members.require_revision(current.policy_revision_id, request.RevisionId, say.POLICY_REVISION)
        return msgspec.structs.replace(current, statements=statements, policy_revision_id=new_uuid())

    await functions.change(description, remove)


async def get_policy(functions: Functions, caller: Caller, request: QualifiedRequest) -> Mapping[str, Any]:
    """GetPolicy: a function's policy as JSON text.

    The policy; without statements, there is none.
    """
    description = functions.find(request.FunctionName, caller, request.Qualifier)
    if not description.statements:
        raise FunctionMissing(say.NO_RESOURCE)
    return {"Policy": policy_text(description.statements), "RevisionId": description.policy_revision_id}


OPERATIONS = (
    rest_operation("AddPermission", AddPermissionRequest, add_permission, status=201, query={"Qualifier": "Qualifier"}),
    rest_operation("RemovePermission", RemovePermissionRequest, remove_permission, status=204),
    rest_operation("GetPolicy", QualifiedRequest, get_policy),
)
