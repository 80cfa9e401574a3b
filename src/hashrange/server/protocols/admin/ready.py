"""`GET ready`: is the server ready? It is if it answers, because it listens only once the store is open."""

from hashrange.server.protocols.admin.endpoint import Endpoint, Nothing, Serving


async def tell_readiness(serving: Serving, request: Nothing) -> dict[str, object]:
    """Return `{"ready": true}`."""
    return {"ready": True}


ENDPOINT = Endpoint("GET", "ready", Nothing, tell_readiness, example="{}")
