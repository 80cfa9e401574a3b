"""Invoke: run a function and return what it returns, or queue the invocation (`Event`),
or only check that it could run (`DryRun`).

Order of checks: member constraints (the protocol) → the function exists → the payload's size, its JSON, the client
context → the function is Pending, code runs here, as many invocations run as may. Source: the API reference, *Invoke*.
"""

import base64
import binascii
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from hashrange.aws_services.operation import Caller
from hashrange.functions.api import members
from hashrange.functions.api.operation import LambdaError, LambdaReply, rest_operation
from hashrange.functions.description import new_uuid
from hashrange.functions.functions import Functions
from hashrange.functions.invocation import ConcurrencyExceeded
from hashrange.functions.names import LATEST
from hashrange.functions.refusals import throttling_refusal
from hashrange.items.steps import spend_decoding
from hashrange.limits import EVENT_PAYLOAD_BYTES_MAX, INVOCATION_PAYLOAD_BYTES_MAX
from hashrange.messages import functions_api as say

REQUEST_ID = "x-amzn-RequestId"
"""First header of the reply, whose value is the request id that the handler sees."""
_NO_PAYLOAD = b"{}"
"""What a handler receives if the request has no payload."""


class InvokeRequest(members.FunctionRequest, frozen=True, kw_only=True, gc=False):
    """A function and its event."""

    InvocationType: Literal["Event", "RequestResponse", "DryRun"] | None = None
    LogType: Literal["None", "Tail"] | None = None
    ClientContext: str | None = None
    Payload: bytes | None = None
    Qualifier: members.Qualifier | None = None
    TenantId: Annotated[str, Meta(min_length=1, max_length=256)] | None = None
    DurableExecutionName: Annotated[str, Meta(min_length=1, max_length=64)] | None = None


async def invoke(functions: Functions, caller: Caller, request: InvokeRequest) -> LambdaReply:
    """Run, queue or check an invocation."""
    description = functions.find(request.FunctionName, caller, request.Qualifier)
    members.refuse_given(request, ("TenantId", "DurableExecutionName"), say.NOT_HERE)
    payload = request.Payload or _NO_PAYLOAD
    invocation_type = request.InvocationType or "RequestResponse"
    _check_payload(payload, invocation_type)
    client_context = _read_client_context(request.ClientContext)
    functions.require_invocable(description)
    if invocation_type == "DryRun":
        return LambdaReply(204)
    request_id = new_uuid()
    if invocation_type == "Event":
        await functions.events.put(description.key, payload, request_id, client_context)
        return LambdaReply(202, headers={REQUEST_ID: request_id})
    try:
        invocation = await functions.invoke(description, payload, request_id, client_context)
    except ConcurrencyExceeded:
        is_reserved = description.reserved_executions is not None
        reason = (
            "ReservedFunctionConcurrentInvocationLimitExceeded" if is_reserved else "ConcurrentInvocationLimitExceeded"
        )
        raise throttling_refusal(reason) from None
    headers = {REQUEST_ID: request_id, "X-Amz-Executed-Version": LATEST}
    if invocation.function_error is not None:
        headers["X-Amz-Function-Error"] = invocation.function_error
    if request.LogType == "Tail":
        headers["X-Amz-Log-Result"] = base64.b64encode(invocation.log_tail).decode()
    return LambdaReply(200, invocation.payload, headers)


def _check_payload(payload: bytes, invocation_type: str) -> None:
    """Raise LambdaError for a payload that is too long, or no JSON in UTF-8."""
    most_bytes = EVENT_PAYLOAD_BYTES_MAX if invocation_type == "Event" else INVOCATION_PAYLOAD_BYTES_MAX
    if len(payload) > most_bytes:
        message = say.PAYLOAD_TOO_LARGE.format(size_bytes=len(payload), type=invocation_type, most_bytes=most_bytes)
        raise LambdaError(413, "RequestEntityTooLargeException", message)
    spend_decoding(len(payload))
    try:
        payload.decode()
        msgspec.json.decode(payload, type=msgspec.Raw)
    except RecursionError:
        raise LambdaError(400, "InvalidRequestContentException", say.payload_no_json(say.TOO_NESTED)) from None
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise LambdaError(400, "InvalidRequestContentException", say.payload_no_json(str(error))) from None


def _read_client_context(text: str | None) -> str | None:
    """The client context as JSON. Raises LambdaError if it is no JSON object in base64."""
    if not text:
        return None
    try:
        decoded = base64.b64decode(text, validate=True)
        msgspec.json.decode(decoded, type=dict[str, msgspec.Raw])
        return decoded.decode()
    except (binascii.Error, ValueError, RecursionError):  # msgspec's and Unicode's errors are ValueErrors
        raise LambdaError(400, "InvalidRequestContentException", say.CLIENT_CONTEXT) from None


OPERATION = rest_operation(
    "Invoke",
    InvokeRequest,
    invoke,
    query={"Qualifier": "Qualifier"},
    headers={
        "x-amz-invocation-type": "InvocationType",
        "x-amz-log-type": "LogType",
        "x-amz-client-context": "ClientContext",
        "x-amz-tenant-id": "TenantId",
        "x-amz-durable-execution-name": "DurableExecutionName",
    },
    raw_body="Payload",
)
