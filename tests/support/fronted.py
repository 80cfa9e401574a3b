"""Which request do calls of a front belong to in a test? One of an operation, without a service."""

from typing import Any

from hashrange.operations.registry import OPERATIONS
from hashrange.store.front import request_meter


class Fronted:
    """A `FrontedCall`."""

    def __init__(self, operation: str = "GetItem", scope: Any = None, request: Any = None) -> None:
        self.operation = OPERATIONS[operation]
        self.scope, self.request = scope, request
        self.meter = request_meter(self)
