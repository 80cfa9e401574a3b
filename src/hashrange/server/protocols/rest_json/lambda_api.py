"""Which operations of Lambda's API are served, and how long may their bodies be?
Those of functions and of event source mappings.
"""

from hashrange.aws_services.operation import Operation, bound
from hashrange.functions.api.operation import LambdaError, RestWire
from hashrange.functions.api.registry import OPERATIONS as FUNCTION_OPERATIONS
from hashrange.limits import BODY_BYTES_MAX, LAMBDA_REQUEST_BYTES_MAX
from hashrange.messages.rest_json import request_too_large
from hashrange.server.protocols.http_call import WrittenReply
from hashrange.server.protocols.rest_json.members import body_bytes_max
from hashrange.server.protocols.rest_json.replies import RestWriter
from hashrange.server.protocols.rest_json.routes import Routes
from hashrange.triggers.api.registry import OPERATIONS as MAPPING_OPERATIONS
from hashrange.triggers.triggers import Triggers

_FUNCTIONS_PATH = b"/2015-03-31/functions"
"""Begins the paths of the operations that take a zip."""


def operations_of(triggers: Triggers) -> list[Operation[RestWire]]:
    """Every operation."""
    return bound(FUNCTION_OPERATIONS, triggers.functions) + bound(MAPPING_OPERATIONS, triggers)


def body_limit(url: bytes) -> int:
    """Most bytes of a body, by the request's URL: more for zips than for requests of DynamoDB."""
    return LAMBDA_REQUEST_BYTES_MAX if url.startswith(_FUNCTIONS_PATH) else BODY_BYTES_MAX


def too_large(url: bytes) -> WrittenReply | None:
    """The reply to a body that is longer than that of any operation; None if the URL is no operation's. The method does
    not matter: of the operations of a path at most one has a body.
    """
    routes = Routes((*FUNCTION_OPERATIONS, *MAPPING_OPERATIONS))
    for method in ("POST", "PUT"):
        found = routes.find(method, url)
        if found is not None and found[0].operation is not None:
            operation = found[0].operation
            message = request_too_large(operation.name, body_bytes_max(operation))
            return RestWriter().error(LambdaError(413, "RequestEntityTooLargeException", message))
    return None
