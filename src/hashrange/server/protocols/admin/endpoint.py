"""What defines an endpoint of the admin API? A method, a path, the JSON that it takes,
and a coroutine that makes its reply.

A file for each subject has an `ENDPOINT`, or several in `ENDPOINTS`, and a line in `registry.py`.
"""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Literal, NamedTuple

import msgspec

from hashrange.errors import ApiError, StorageError
from hashrange.server.clients import Clients
from hashrange.server.forks import Forks
from hashrange.server.kept_snapshots import KeptSnapshots
from hashrange.service.service import Service
from hashrange.store.interface import Durability

HttpMethod = Literal["GET", "POST", "DELETE"]
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


class Endpoint(NamedTuple):
    """One endpoint of the admin API."""

    method: HttpMethod
    path: str
    """Path below `/_hashrange/v1/`. A segment in capitals stands for any text that is not empty."""
    request: type[msgspec.Struct]
    run: Callable[..., Coroutine[Any, Any, Mapping[str, object]]]
    """run(serving, request, *texts), one text per segment in capitals, returns the members of the reply.

    Raises Refused or StorageError."""
    example: str
    """Example of a request's body, shown when a body is refused."""
    body_bytes_max: int = 4096
    """Most bytes of a request's body; a longer one is refused."""

    @property
    def shown(self) -> str:
        """Method and path: `POST /_hashrange/v1/clock/advance`."""
        return f"{self.method} {PREFIX}{self.path}"


class Refused(ApiError):
    """An admin request is refused with this HTTP status; `message` says why, and usually what to do."""

    message: str

    def __init__(self, http_status: int, message: str, header_lines: bytes = b"") -> None:
        super().__init__(message)
        self.http_status = http_status
        self.header_lines = header_lines


async def until_durable(store: Durability) -> None:
    """Return once all commits so far are durable; in memory, at once. Raises StorageError if a sync fails."""
    position = store.position()
    if store.durable_position() >= position:
        return
    durable: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def tell(error: StorageError | None) -> None:
        if error is None:
            durable.set_result(None)
        else:
            durable.set_exception(error)

    store.when_durable(position, tell)
    await durable
