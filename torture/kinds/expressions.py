"""Which short expressions cost most? Expressions that read a list of 100,000 elements again
for each of their clauses.
"""

from torture.kinds.kind import REFUSED, Hostile, Kind, plain
from torture.kinds.needs import ABSENT, LARGE, LARGE_ITEMS, TABLE, TEXT, TEXT_CHARACTERS, large_key

CONTAINS = " OR ".join(["contains(l,:a)"] * 145)
"""A condition just below the limit of 300 operators, ORs included."""
VALUES = {":a": ABSENT}


def update(clauses: list[str]) -> Hostile:
    """An UpdateItem whose result is larger than an item may be."""
    return plain(
        "UpdateItem", {"TableName": TABLE, "Key": large_key(), "UpdateExpression": "SET " + ", ".join(clauses)}
    )


def statement(clauses: list[str]) -> Hostile:
    """An UPDATE statement with the same clauses as the UpdateItem."""
    setters = " ".join(f"SET {clause}" for clause in clauses)
    return plain("ExecuteStatement", {"Statement": f"UPDATE \"{TABLE}\" {setters} WHERE pk='{LARGE}' AND sk='00'"})


def appends(count: int) -> list[str]:
    """SET clauses, each of which makes a list twice as long as the item's."""
    return [f"a{number}=list_append(l,l)" for number in range(count)]


def copies(count: int) -> list[str]:
    """SET clauses, each of which copies the item's list."""
    return [f"a{number}=l" for number in range(count)]


def condition() -> Hostile:
    """A DeleteItem with an OR of 145 contains calls, all of them false, each of which searches the whole list."""
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
    """A Query whose filter searches the list 145 times per item, over one page: 1 MB, some four items."""
    members = {
        "TableName": TABLE,
        "KeyConditionExpression": "pk=:pk",
        "FilterExpression": CONTAINS,
        "ExpressionAttributeValues": VALUES | {":pk": {"S": LARGE}},
    }
    return plain("Query", members)


def scan_filter() -> Hostile:
    """A Scan whose filter searches the list 145 times per item, over one page."""
    return plain("Scan", {"TableName": TABLE, "FilterExpression": CONTAINS, "ExpressionAttributeValues": VALUES})


def transaction() -> Hostile:
    """A transaction that searches the lists of all its items 145 times; all conditions hold, so all items are read."""
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
    """A Query whose filter looks for a text that nearly matches at two thousand places of a longer text."""
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
