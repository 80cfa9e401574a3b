"""`POST reset`: replaces everything, in all accounts and Regions, by the initial content;
service time runs as the machine's. Connections stay open.

The initial content is that of the init folder (`--init`), or nothing.
"""

import asyncio

from hashrange.aws_services.operation import Operation
from hashrange.messages import admin as sentences
from hashrange.server.protocols.admin.endpoint import AdminWire, Nothing, Refused, Serving
from hashrange.service.initial_content import reset_service
from hashrange.settings import SettingUnusable


async def reset(serving: Serving, request: Nothing) -> dict[str, object]:
    """Reset the database durably. Raises Refused if the init folder cannot be applied,
    and StorageError; nothing is changed then.
    """
    try:
        await reset_service(serving.service)
    except SettingUnusable as error:
        raise Refused(409, str(error)) from None
    except asyncio.CancelledError:  # at the server's end, whatever is still running is cancelled
        raise Refused(503, sentences.RESET_ENDED) from None
    return {}


ENDPOINT = Operation("POST reset", Nothing, reset, AdminWire())
