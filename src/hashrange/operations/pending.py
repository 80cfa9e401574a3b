"""Which operations of the API are not implemented yet?
`PENDING_NAMES`: their requests get UnsupportedOperationException.

Each name has an operation record, so that JSON, target and signature of its requests are checked as for every
operation; their members are not. The error is `UnsupportedOperationException`, and not a code of the service's own,
because no SDK retries it and no tool takes it for a fault of the request. An operation leaves the list when it is
implemented; a test compares this list and the registry with the API model.
"""

from typing import NoReturn

import msgspec

from hashrange.aws_services.operation import Operation
from hashrange.errors import UnsupportedOperationException
from hashrange.messages.other_services import OPERATION_NOT_SUPPORTED_YET
from hashrange.operations.operation import JSON, JsonWire, Scope

PENDING_NAMES = (
    "CreateGlobalTable",
    "DescribeGlobalTable",
    "DescribeGlobalTableSettings",
    "UpdateGlobalTable",
    "UpdateGlobalTableSettings",
    "UpdateTableReplicaAutoScaling",
)


class PendingRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Any JSON object; its members are not checked."""


def _pending(name: str) -> Operation[JsonWire]:
    """The record of an operation that refuses every request."""

    async def refuse(scope: Scope, request: PendingRequest) -> NoReturn:
        raise UnsupportedOperationException(OPERATION_NOT_SUPPORTED_YET.format(operation=name))

    return Operation(name, PendingRequest, refuse, JSON)


PENDING: dict[str, Operation[JsonWire]] = {name: _pending(name) for name in PENDING_NAMES}
