"""Which short expressions cost much? Each reads a list of 100,000 elements again for each of its clauses."""

from torture.kinds.kind import REFUSED, Hostile, Kind, plain
from torture.kinds.needs import ABSENT, LARGE, LARGE_ITEMS, TABLE, TEXT, TEXT_CHARACTERS, large_key

CONTAINS = " OR ".join(["contains(l,:a)"] * 145)
"""With its ORs just under the 300 operators that an expression may have."""
VALUES = {":a": ABSENT}


def update(clauses: list[str]) -> Hostile:
    """An UpdateItem whose result is larger than an item may be."""
    return plain(
        "UpdateItem", {"TableName": TABLE, "Key": large_key(), "UpdateExpression": "SET " + ", ".join(clauses)}
    )


def statement(clauses: list[str]) -> Hostile:
    """The same as a PartiQL statement."""
    setters = " ".join(f"SET {clause}" for clause in clauses)
    return plain("ExecuteStatement", {"Statement": f"UPDATE \"{TABLE}\" {setters} WHERE pk='{LARGE}' AND sk='00'"})


def appends(count: int) -> list[str]:
    """Each clause makes a list twice as long as the item's."""
    return [f"a{number}=list_append(l,l)" for number in range(count)]


def copies(count: int) -> list[str]:
    """Each clause copies the item's list."""
    return [f"a{number}=l" for number in range(count)]


def condition() -> Hostile:
    """A condition that is false after every comparison there is."""
    return plain(
        "DeleteItem",
        {
            "TableName": TABLE,
            "Key": large_key(),
            "ConditionExpression": CONTAINS,
            "ExpressionAttributeValues": VALUES,
        },
    )


def query_filter() -> Hostile:
    """The same as a filter over one page: 1 MB, some four items."""
    members = {
        "TableName": TABLE,
        "KeyConditionExpression": "pk=:pk",
        "FilterExpression": CONTAINS,
        "ExpressionAttributeValues": VALUES | {":pk": {"S": LARGE}},
    }
    return plain("Query", members)


def scan_filter() -> Hostile:
    """The same over one page of a Scan."""
    return plain("Scan", {"TableName": TABLE, "FilterExpression": CONTAINS, "ExpressionAttributeValues": VALUES})


def transaction() -> Hostile:
    """Such a condition on each of as many items as a transaction may touch; all of them hold, so that all are read."""
    checks = [
        {
            "ConditionCheck": {
                "TableName": TABLE,
                "Key": large_key(number),
                "ConditionExpression": f"NOT ({CONTAINS})",
                "ExpressionAttributeValues": VALUES,
            }
        }
        for number in range(LARGE_ITEMS)
    ]
    return plain("TransactWriteItems", {"TransactItems": checks})


def part() -> Hostile:
    """A text that nearly fits at two thousand places of a longer one."""
    nearly = "a" * (TEXT_CHARACTERS - 2_000) + "baa"
    members = {
        "TableName": TABLE,
        "KeyConditionExpression": "pk=:pk",
        "FilterExpression": "contains(t, :part)",
        "ExpressionAttributeValues": {":pk": {"S": TEXT}, ":part": {"S": nearly}},
    }
    return plain("Query", members)


KINDS = (
    Kind("query-contains-nearly", part, ("200",), (TEXT,)),
    Kind("update-append-140", lambda: update(appends(140)), (REFUSED,), (LARGE,)),
    Kind("update-append-20", lambda: update(appends(20)), (REFUSED,), (LARGE,)),
    Kind("update-copy-40", lambda: update(copies(40)), (REFUSED,), (LARGE,)),
    Kind("partiql-append-140", lambda: statement(appends(140)), (REFUSED,), (LARGE,)),
    Kind("partiql-append-20", lambda: statement(appends(20)), (REFUSED,), (LARGE,)),
    Kind("partiql-copy-40", lambda: statement(copies(40)), (REFUSED,), (LARGE,)),
    Kind("condition-contains-145", condition, ("400 ConditionalCheckFailedException",), (LARGE,)),
    Kind("query-contains-145", query_filter, ("200",), (LARGE,)),
    Kind("scan-contains-145", scan_filter, ("200",), (LARGE,)),
    Kind("transact-contains-145", transaction, ("200",), (LARGE,)),
)
