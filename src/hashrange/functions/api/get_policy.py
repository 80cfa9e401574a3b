"""GetPolicy: a function's policy as JSON text."""

from collections.abc import Mapping
from typing import Any

from hashrange.aws_services.operation import Caller, Operation
from hashrange.functions.api.get_function import QualifiedRequest
from hashrange.functions.api.operation import RestWire
from hashrange.functions.api.policies import policy_text
from hashrange.functions.functions import Functions
from hashrange.functions.refusals import FunctionMissing
from hashrange.messages import functions_api as say


async def get_policy(functions: Functions, caller: Caller, request: QualifiedRequest) -> Mapping[str, Any]:
    """The policy; without statements, there is none."""
    description = functions.find(request.FunctionName, caller, request.Qualifier)
    if not description.statements:
        raise FunctionMissing(say.NO_RESOURCE)
    return {"Policy": policy_text(description.statements), "RevisionId": description.policy_revision_id}


OPERATION = Operation(
    "GetPolicy",
    QualifiedRequest,
    get_policy,
    RestWire("GET", "/2015-03-31/functions/{FunctionName}/policy", query={"Qualifier": "Qualifier"}),
)
