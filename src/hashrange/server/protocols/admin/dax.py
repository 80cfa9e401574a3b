"""`GET dax`: how are the nodes of DAX clusters used? Hits and misses, memory, and the keys that are read most."""

from hashrange.aws_services.operation import Operation
from hashrange.server.protocols.admin.endpoint import AdminWire, Nothing, Serving, at_once


async def tell_nodes(serving: Serving, request: Nothing) -> dict[str, object]:
    """Return the nodes that run, in order of cluster and node."""
    return {"nodes": serving.describe_dax()}


ENDPOINT = Operation("GET dax", Nothing, tell_nodes, AdminWire(), is_eventual=at_once)
