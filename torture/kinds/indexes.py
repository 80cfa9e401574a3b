"""Which writes cost most for their size? Those of items that many indexes carry whole."""

from typing import Any

from torture.kinds.kind import Hostile, Kind, plain
from torture.kinds.needs import INDEXED, INDEXED_ITEMS, indexed_key


def counting(number: int) -> dict[str, Any]:
    """A change of one attribute."""
    return {
        "TableName": INDEXED,
        "Key": indexed_key(number),
        "UpdateExpression": "ADD n :one",
        "ExpressionAttributeValues": {":one": {"N": "1"}},
    }


def update() -> Hostile:
    """8 MB of entries, for a request of 200 bytes."""
    return plain("UpdateItem", counting(0))


def transaction() -> Hostile:
    """4 MB of items, 80 MB of entries."""
    updates = [{"Update": counting(number)} for number in range(INDEXED_ITEMS)]
    return plain("TransactWriteItems", {"TransactItems": updates})


KINDS = (
    Kind("update-20-indexes", update, ("200",), (INDEXED,)),
    Kind("transact-10x20-indexes", transaction, ("200", "400 TransactionCanceledException"), (INDEXED,)),
)
