"""AddPermission: add a statement to a function's policy. It is stored and returned;
whoever reaches the server may invoke.

Order of checks: member constraints (the protocol) → the function exists → patterns of members → RevisionId → the
statement exists → the policy's length.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from hashrange.aws_services.operation import Caller, Operation
from hashrange.functions.api import members
from hashrange.functions.api.operation import LambdaError, RestWire
from hashrange.functions.api.policies import (
    StatementMembers,
    check_permission,
    make_statement,
    policy_text,
    require_policy_revision,
)
from hashrange.functions.description import FunctionDescription, new_revision_id
from hashrange.functions.functions import Functions
from hashrange.functions.names import read_reference
from hashrange.functions.refusals import conflict_refusal
from hashrange.limits import FUNCTION_POLICY_BYTES_MAX
from hashrange.messages import functions_api as say


class AddPermissionRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A function and a statement."""

    FunctionName: members.FunctionNameText
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


async def add_permission(functions: Functions, caller: Caller, request: AddPermissionRequest) -> Mapping[str, Any]:
    """Store the statement, and return it as JSON text."""
    description = functions.find(request.FunctionName, caller, request.Qualifier)
    given = StatementMembers(
        statement_id=request.StatementId,
        action=request.Action,
        principal=request.Principal,
        source_arn=request.SourceArn,
        source_account=request.SourceAccount,
        event_source_token=request.EventSourceToken,
        organization_id=request.PrincipalOrgID,
        url_auth_type=request.FunctionUrlAuthType,
        is_via_url=request.InvokedViaFunctionUrl,
    )
    check_permission(given)
    resource_arn = read_reference(request.FunctionName, caller, request.Qualifier).arn
    statement = make_statement(given, resource_arn)

    def add(current: FunctionDescription) -> FunctionDescription:
        require_policy_revision(current, request.RevisionId)
        if any(one["Sid"] == request.StatementId for one in current.statements):
            raise conflict_refusal(say.statement_exists(request.StatementId))
        statements = (*current.statements, statement)
        size_bytes = len(policy_text(statements).encode())
        if size_bytes > FUNCTION_POLICY_BYTES_MAX:
            message = say.policy_too_long(size_bytes, FUNCTION_POLICY_BYTES_MAX)
            raise LambdaError(400, "PolicyLengthExceededException", message)
        return msgspec.structs.replace(current, statements=statements, policy_revision_id=new_revision_id())

    await functions.change(description, add)
    return {"Statement": msgspec.json.encode(statement).decode()}


OPERATION = Operation(
    "AddPermission",
    AddPermissionRequest,
    add_permission,
    RestWire("POST", "/2015-03-31/functions/{FunctionName}/policy", status=201, query={"Qualifier": "Qualifier"}),
)
