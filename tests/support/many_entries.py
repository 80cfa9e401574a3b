"""Which writes change very many entries? Those of a table with twenty global indexes."""

from functools import partial
from typing import Any

import msgspec

from hashrange.items.rows import encode_row
from hashrange.items.types import Item, Key, Row
from hashrange.operations.registry import ALL_OPERATIONS
from hashrange.service.service import Service
from hashrange.settings import Settings
from hashrange.store.embedded import open_store
from hashrange.tables.change import Change
from hashrange.tables.open_table import OpenTable
from tests.support.clocks import VirtualClock
from tests.support.samples import finish
from tests.support.scopes import ACCOUNT, REGION

INDEXES, WRITES = 20, 100


def service_with_indexes(**settings: Any) -> tuple[Service, OpenTable]:
    """A service without a loop, and its only table, whose partition key is `pk`."""
    clock = VirtualClock()
    service = Service(open_store(None, clock, None), ALL_OPERATIONS, clock, Settings(data_dir=None, **settings))
    names = [f"a{number}" for number in range(INDEXES)]
    request = {
        "TableName": "orders",
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in ("pk", *names)],
        "BillingMode": "PAY_PER_REQUEST",
        "GlobalSecondaryIndexes": [
            {
                "IndexName": f"by-{name}",
                "KeySchema": [{"AttributeName": name, "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "KEYS_ONLY"},
            }
            for name in names
        ],
    }
    create = ALL_OPERATIONS["CreateTable"]
    finish(create.run(service.scope(ACCOUNT, REGION), msgspec.convert(request, create.request)))
    (table,) = service.store.catalog.all_tables()
    return service, table


def changes_of(service: Service, table: OpenTable) -> list[Change]:
    """Committed writes of 100 new items, each with an entry in every index."""
    return [finish(service.store.mutate(table, *_written(table, number))) for number in range(WRITES)]


def _written(table: OpenTable, number: int) -> tuple[Key, Any]:
    item: Item = {name: {"S": f"{name}-{number}"} for name in ("pk", *[f"a{index}" for index in range(INDEXES)])}
    return table.item_key(item), partial(_replaced, encode_row(item, 200))


def _replaced(row: Row, _old: Row | None) -> Row:
    return row
