"""`POST reset`: deletes everything, in all accounts and Regions, and lets service time run as the machine's. Connections stay open."""

from hashrange.server.protocols.admin.endpoint import Endpoint, Nothing, Serving, until_durable
from hashrange.service.snapshots import return_to


async def reset(serving: Serving, request: Nothing) -> dict[str, object]:
    """Empty the database durably. Raises StorageError."""
    return_to(serving.service, None)
    await until_durable(serving.service.store)
    return {}


ENDPOINT = Endpoint("POST", "reset", Nothing, reset, example="{}")
