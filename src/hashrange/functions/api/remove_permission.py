"""RemovePermission: take a statement out of a function's policy."""

from typing import Annotated

import msgspec
from msgspec import Meta

from hashrange.aws_services.operation import Caller, Operation
from hashrange.functions.api import members
from hashrange.functions.api.operation import RestWire
from hashrange.functions.api.policies import require_policy_revision
from hashrange.functions.description import FunctionDescription, new_revision_id
from hashrange.functions.functions import Functions
from hashrange.functions.refusals import FunctionMissing
from hashrange.messages import functions_api as say


class RemovePermissionRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A function and the id of a statement."""

    FunctionName: members.FunctionNameText
    StatementId: Annotated[str, Meta(min_length=1, max_length=100)]
    Qualifier: members.Qualifier | None = None
    RevisionId: str | None = None


async def remove_permission(functions: Functions, caller: Caller, request: RemovePermissionRequest) -> None:
    """Store the other statements."""
    description = functions.find(request.FunctionName, caller, request.Qualifier)

    def remove(current: FunctionDescription) -> FunctionDescription:
        statements = tuple([one for one in current.statements if one["Sid"] != request.StatementId])
        if len(statements) == len(current.statements):
            raise FunctionMissing(say.statement_missing(request.StatementId))
        require_policy_revision(current, request.RevisionId)
        return msgspec.structs.replace(current, statements=statements, policy_revision_id=new_revision_id())

    await functions.change(description, remove)


OPERATION = Operation(
    "RemovePermission",
    RemovePermissionRequest,
    remove_permission,
    RestWire(
        "DELETE",
        "/2015-03-31/functions/{FunctionName}/policy/{StatementId}",
        status=204,
        query={"Qualifier": "Qualifier", "RevisionId": "RevisionId"},
    ),
)
