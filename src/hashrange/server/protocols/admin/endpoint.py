"""What defines an endpoint of the admin API? A record of an operation, whose name is its method and path:
`POST clock/advance` is below `/_hashrange/v1/`. A segment in capitals stands for any text that is not empty.

A file for each subject has `ENDPOINTS`, and a line in `registry.py`. The function of an
endpoint is `run(serving, request, *texts)`, with one text for each segment in capitals; it returns the members of the
reply, or bytes of a file, and raises Refused or StorageError.
"""

from collections.abc import Callable
from typing import NamedTuple

import msgspec

from hashrange.aws_services.operation import Operation
from hashrange.errors import ApiError
from hashrange.messages.admin import BAD_BODY
from hashrange.server.clients import Clients
from hashrange.server.copies import Forks, KeptSnapshots
from hashrange.service.service import Service

PREFIX = "/_hashrange/v1/"


class Serving(NamedTuple):
    """The parts of the server that endpoints may use."""

    service: Service
    clients: Clients
    snapshots: KeptSnapshots
    forks: Forks | None
    """None for a database that listens on no port."""
    started_at_seconds: float
    """Monotonic time of the server's start."""
    describe_dax: Callable[[], list[dict[str, object]]] = list
    """State of each node of DAX's clusters."""


class Nothing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Request of an endpoint that takes no members."""


class AdminWire(NamedTuple):
    """The body that an endpoint takes."""

    example: str = "{}"
    """Shown when a body is refused."""
    body_bytes_max: int = 4096
    """Most bytes of a request's body; a longer one is refused."""


def at_once(_request: object) -> bool:
    """`is_eventual` of an endpoint whose reply tells of no commit, and waits for none."""
    return True


def shown_endpoint(endpoint: Operation[AdminWire]) -> str:
    """Method and path: `POST /_hashrange/v1/clock/advance`."""
    return endpoint.name.replace(" ", f" {PREFIX}")


class Refused(ApiError):
    """An admin request is refused with this HTTP status; `message` says why, and usually what to do."""

    message: str

    def __init__(self, http_status: int, message: str, header_lines: bytes = b"") -> None:
        super().__init__(message)
        self.http_status = http_status
        self.header_lines = header_lines


def body_refusal(wire: AdminWire, reason: Exception) -> Refused:
    """The refusal of a body that a decoder does not take, or a part of it."""
    return Refused(400, BAD_BODY.format(reason=reason, example=wire.example))
