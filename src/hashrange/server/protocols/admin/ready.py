"""`GET ready`: is the server ready? It is if it answers, because it listens only once the store is open."""

from hashrange.aws_services.operation import Operation
from hashrange.server.protocols.admin.endpoint import AdminWire, Nothing, Serving, at_once


async def tell_readiness(serving: Serving, request: Nothing) -> dict[str, object]:
    """Return `{"ready": true}`."""
    return {"ready": True}


ENDPOINT = Operation("GET ready", Nothing, tell_readiness, AdminWire(), is_eventual=at_once)
