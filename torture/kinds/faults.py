"""What harms on a server with as many faults as there may be? Requests for many items, each of which has to look
at all faults, and setting the faults.
"""

from collections.abc import Iterator

import msgspec

from torture.kinds.forks import HAS_ADMIN
from torture.kinds.kind import Call, Hostile, Kind, plain, web
from torture.kinds.needs import TABLE, key

FAULTS = 1_000
"""The most that a server accepts."""
NEVER = 10**9
"""Matches that do not meet a fault: more than there are."""
ITEMS = 100


def set_faults() -> Hostile:
    """Set faults that concern all items of the table, and that no request meets."""
    fault = {"kind": "throttle", "table": TABLE, "share": 0.5, "skip": NEVER}
    return web("POST", "/_hashrange/v1/faults", msgspec.json.encode({"faults": [fault] * FAULTS}))


def many_faults() -> Iterator[Call | Hostile]:
    """Set the faults once."""
    yield set_faults()


def batch_get() -> Hostile:
    """Read as many items as a batch may name."""
    return plain("BatchGetItem", {"RequestItems": {TABLE: {"Keys": [key(f"none-{one}") for one in range(ITEMS)]}}})


def transact_get() -> Hostile:
    """Read as many items as a transaction may name."""
    gets = [{"Get": {"TableName": TABLE, "Key": key(f"none-{one}")}} for one in range(ITEMS)]
    return plain("TransactGetItems", {"TransactItems": gets})


KINDS = (
    Kind("batch-get-many-faults", batch_get, ("200",), conditions=HAS_ADMIN, preparation=many_faults),
    Kind("transact-get-many-faults", transact_get, ("200",), conditions=HAS_ADMIN, preparation=many_faults),
    Kind("set-many-faults", set_faults, ("200",), conditions=HAS_ADMIN),
)
