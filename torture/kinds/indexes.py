"""Which writes cost most for their size? Small updates of large items that many indexes project completely."""

from functools import partial
from typing import Any

from torture.kinds.kind import Hostile, Kind, plain
from torture.kinds.needs import INDEXED, INDEXED_ITEMS, LOCAL, key


def counting(table: str, number: int) -> dict[str, Any]:
    """An update of one attribute."""
    return {
        "TableName": table,
        "Key": key(f"{table}-{number}"),
        "UpdateExpression": "ADD n :one",
        "ExpressionAttributeValues": {":one": {"N": "1"}},
    }


def update(table: str) -> Hostile:
    """An UpdateItem of 200 bytes that writes 8 MB of entries in 20 indexes."""
    return plain("UpdateItem", counting(table, 0))


def transaction(table: str) -> Hostile:
    """A transaction on 4 MB of items, which writes 80 MB of entries in 20 indexes."""
    updates = [{"Update": counting(table, number)} for number in range(INDEXED_ITEMS)]
    return plain("TransactWriteItems", {"TransactItems": updates})


ANSWERS = ("200", "400 TransactionCanceledException")
KINDS = (
    Kind("update-20-indexes", partial(update, INDEXED), ("200",), (INDEXED,)),
    Kind("transact-10x20-indexes", partial(transaction, INDEXED), ANSWERS, (INDEXED,)),
    Kind("update-5-local", partial(update, LOCAL), ("200",), (LOCAL,)),
    Kind("transact-10x5-local", partial(transaction, LOCAL), ANSWERS, (LOCAL,)),
)
