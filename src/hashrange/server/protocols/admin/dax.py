"""`GET dax`: how are the nodes of DAX clusters used? Hits and misses, memory, and the keys that are read most."""

from hashrange.server.protocols.admin.endpoint import Endpoint, Nothing, Serving


async def tell_nodes(serving: Serving, request: Nothing) -> dict[str, object]:
    """Return the nodes that run, in order of cluster and node."""
    return {"nodes": serving.describe_dax()}


ENDPOINT = Endpoint("GET", "dax", Nothing, tell_nodes, example="{}")
