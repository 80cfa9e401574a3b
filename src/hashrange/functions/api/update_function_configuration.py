"""UpdateFunctionConfiguration: change what a function is besides its code;
if the change may break its handler, this is loaded once.

Order of checks: member constraints (the protocol) → the function exists → role → what cannot be honoured → runtime,
handler, variables → RevisionId → the function is declared, or being changed → code runs here → the handler.
"""

from collections.abc import Mapping
from typing import Any

from hashrange.aws_services.operation import Caller, Operation
from hashrange.functions.api import members
from hashrange.functions.api.configuration import configuration
from hashrange.functions.api.members import ConfigurationRequest
from hashrange.functions.api.operation import RestWire
from hashrange.functions.functions import Functions


class UpdateFunctionConfigurationRequest(ConfigurationRequest, frozen=True, kw_only=True, gc=False):
    """A function and what changes; what the request leaves out stays as it is."""

    Role: members.Role | None = None
    RevisionId: str | None = None


async def update_function_configuration(
    functions: Functions, caller: Caller, request: UpdateFunctionConfigurationRequest
) -> Mapping[str, Any]:
    """Store the changes, and describe the function as InProgress."""
    description = functions.find(request.FunctionName, caller)
    members.refuse_unsupported(request)
    given = members.configuration_members(request)
    if request.Role is not None:
        members.check_role(request.Role)
        given["role"] = request.Role
    members.require_revision(description, request.RevisionId)
    updated = await functions.update(description, given)
    return configuration(functions, updated, just="updated")


OPERATION = Operation(
    "UpdateFunctionConfiguration",
    UpdateFunctionConfigurationRequest,
    update_function_configuration,
    RestWire("PUT", "/2015-03-31/functions/{FunctionName}/configuration"),
)
