"""Tables with key attributes only: `pk`, and `sk` if a sort key type is given."""

from typing import cast

from hashrange.tables.open_table import OpenTable
from hashrange.tables.schema import KeySchema, KeyType, Table


def key_table(partition_type: str, sort_type: str | None = None) -> OpenTable:
    """A table with a partition key `pk` and, when `sort_type` is given, a sort key `sk`."""
    return OpenTable(
        Table(
            table_id=1,
            uuid="00000000-0000-0000-0000-000000000000",
            account="000000000000",
            region="us-east-1",
            name="keyed",
            keys=KeySchema(
                partition_names=("pk",),
                partition_types=(cast(KeyType, partition_type),),
                sort_names=() if sort_type is None else ("sk",),
                sort_types=() if sort_type is None else (cast(KeyType, sort_type),),
            ),
            attribute_types={},
            created_at_seconds=0.0,
            active_at_seconds=0.0,
        )
    )
