"""`GET ready`: does the server serve? It does once it answers: it listens only when the store is open."""

from hashrange.server.protocols.admin.endpoint import Endpoint, Nothing, Serving


async def tell_readiness(serving: Serving, request: Nothing) -> dict[str, object]:
    """`{"ready": true}`."""
    return {"ready": True}


ENDPOINT = Endpoint("GET", "ready", Nothing, tell_readiness, example="{}")
