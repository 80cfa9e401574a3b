"""Which items are far longer as JSON than their item size?
Nulls, control characters, and numbers like 1E-130, whose JSON has 129 zeros.
"""

from torture.kinds.kind import Hostile, Kind, plain
from torture.kinds.needs import (
    CONTROLS,
    DENSE_ITEMS,
    NULLS,
    ZERO_SETS,
    ZERO_SETS_ITEMS,
    ZEROS,
    ZEROS_ITEMS,
    key,
)

GETS = 100
"""Number of keys: the most that a batch may read."""
SMALL_BUFFER_CLIENTS = 100


def update_all(table: str, items: int) -> Hostile:
    """A transaction with one small change in each dense item of a table."""
    update = {
        "TableName": table,
        "UpdateExpression": "SET n = if_not_exists(n, :none) + :one",
        "ExpressionAttributeValues": {":none": {"N": "0"}, ":one": {"N": "1"}},
    }
    actions = [{"Update": update | {"Key": key(f"{table}-{number}")}} for number in range(items)]
    return plain("TransactWriteItems", {"TransactItems": actions})


def get_one(table: str) -> Hostile:
    """A small GetItem whose reply has 4 MB."""
    return plain("GetItem", {"TableName": table, "Key": key(f"{table}-0")})


def scan(table: str) -> Hostile:
    """A Scan whose page has the most JSON that a page may have."""
    return plain("Scan", {"TableName": table})


def batch_get(table: str, items: int) -> Hostile:
    """A BatchGetItem of every dense item."""
    keys = [key(f"{table}-{number}") for number in range(items)]
    return plain("BatchGetItem", {"RequestItems": {table: {"Keys": keys}}})


KINDS = (
    Kind("transact-10-nulls", lambda: update_all(NULLS, DENSE_ITEMS), ("200",), (NULLS,)),
    Kind("transact-10-controls", lambda: update_all(CONTROLS, DENSE_ITEMS), ("200",), (CONTROLS,)),
    Kind("transact-15-zeros", lambda: update_all(ZEROS, ZEROS_ITEMS), ("200",), (ZEROS,)),
    Kind("transact-12-zero-sets", lambda: update_all(ZERO_SETS, ZERO_SETS_ITEMS), ("200",), (ZERO_SETS,)),
    Kind("get-zeros", lambda: get_one(ZEROS), ("200",), (ZEROS,)),
    Kind("scan-zeros", lambda: scan(ZEROS), ("200",), (ZEROS,)),
    Kind("batch-get-zeros", lambda: batch_get(ZEROS, ZEROS_ITEMS), ("200",), (ZEROS,)),
    Kind(
        "never-reading-zeros",
        lambda: get_one(ZEROS),
        (),
        (ZEROS,),
        behaviour="never read",
        clients=SMALL_BUFFER_CLIENTS,
    ),
)
