"""DeleteFunction: a function is gone at once; invocations that run go on to their end, and queued ones are given up."""

from hashrange.aws_services.operation import Caller, Operation
from hashrange.functions.api.get_function import QualifiedRequest
from hashrange.functions.api.operation import RestWire
from hashrange.functions.functions import Functions
from hashrange.functions.names import read_reference
from hashrange.functions.refusals import parameter_refusal
from hashrange.messages import functions_api as say


async def delete_function(functions: Functions, caller: Caller, request: QualifiedRequest) -> None:
    """Delete the function and its code."""
    description = functions.find(request.FunctionName, caller, request.Qualifier)
    if read_reference(request.FunctionName, caller, request.Qualifier).qualifier is not None:
        raise parameter_refusal(say.LATEST_NOT_DELETABLE)
    await functions.delete(description)


OPERATION = Operation(
    "DeleteFunction",
    QualifiedRequest,
    delete_function,
    RestWire("DELETE", "/2015-03-31/functions/{FunctionName}", status=204, query={"Qualifier": "Qualifier"}),
)
