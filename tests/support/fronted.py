"""Which request do calls of a front belong to in a test? One of an operation, without a service."""

from typing import Any

from hashrange.operations.registry import OPERATIONS
from hashrange.store.front import RequestMeter


class Fronted:
    """Stands for the service's call."""

    def __init__(self, operation: str = "GetItem", scope: Any = None, request: Any = None) -> None:
        meter = self.meter = RequestMeter()
        meter.scope, meter.operation, meter.request, meter.notes = scope, OPERATIONS[operation], request, None
