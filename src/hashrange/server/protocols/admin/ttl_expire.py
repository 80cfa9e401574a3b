"""`POST ttl/expire`: deletes every expired item of one table or of all,
whatever `--ttl-delay` says, and then replies.
"""

import msgspec

from hashrange.aws_services.operation import Operation
from hashrange.messages import admin as sentences
from hashrange.server.protocols.admin.endpoint import AdminWire, Refused, Serving
from hashrange.server.protocols.admin.tables import find_named_table


class ExpireRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Request: the table whose expired items are deleted; all tables if none is named."""

    table: str | None = None
    account: str | None = None
    region: str | None = None


async def expire(serving: Serving, request: ExpireRequest) -> dict[str, object]:
    """Delete expired items durably, and return how many. Raises Refused or StorageError."""
    store = serving.service.store
    table = None
    if request.table is not None:
        table = find_named_table(store.catalog, request.table, request.account, request.region)
    elif request.account is not None or request.region is not None:
        raise Refused(400, sentences.PLACE_WITHOUT_TABLE)
    expired = await store.maintenance.expire_now(store.maintenance.lease(), table)
    return {"expired": expired}


ENDPOINT = Operation("POST ttl/expire", ExpireRequest, expire, AdminWire('{"table": "sessions"}'))
