"""GetFunction: a function's configuration, tags, reserved executions, and a URL from which its zip
can be fetched for ten minutes.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from hashrange.aws_services.operation import Caller, Operation
from hashrange.functions.api import members
from hashrange.functions.api.configuration import configuration
from hashrange.functions.api.operation import RestWire
from hashrange.functions.functions import Functions
from hashrange.functions.names import read_reference


class QualifiedRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A function, or a version of it."""

    FunctionName: members.FunctionNameText
    Qualifier: members.Qualifier | None = None


async def get_function(functions: Functions, caller: Caller, request: QualifiedRequest) -> Mapping[str, Any]:
    """Describe the function; one that is declared has no zip, so Code has no Location."""
    description = functions.find(request.FunctionName, caller, request.Qualifier)
    qualifier = read_reference(request.FunctionName, caller, request.Qualifier).qualifier
    code = {"RepositoryType": "S3"}
    url = functions.code_url_of(description)
    if url is not None:
        code["Location"] = url
    reply: dict[str, Any] = {"Configuration": configuration(functions, description, qualifier), "Code": code}
    if description.tags:
        reply["Tags"] = description.tags
    if description.reserved_executions is not None:
        reply["Concurrency"] = {"ReservedConcurrentExecutions": description.reserved_executions}
    return reply


OPERATION = Operation(
    "GetFunction",
    QualifiedRequest,
    get_function,
    RestWire("GET", "/2015-03-31/functions/{FunctionName}", query={"Qualifier": "Qualifier"}),
)
