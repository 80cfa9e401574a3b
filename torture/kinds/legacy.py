"""Which legacy parameters cost most? Long lists of conditions and values, which only the size of the body limits."""

from torture.kinds.kind import REFUSED, Hostile, Kind, json_map, names_of, plain, spliced
from torture.kinds.needs import TABLE, TINY, key

IN_VALUES = 100_000
QUERY_CONDITIONS = 20_000
EXPECTED_ENTRIES = 100_000


def scan_filter_in() -> Hostile:
    """A Scan that asks of every item of a page whether a number is in a long list; it never is."""
    values = [{"N": str(-1 - number)} for number in range(IN_VALUES)]
    return plain(
        "Scan",
        {"TableName": TINY, "ScanFilter": {"n": {"ComparisonOperator": "IN", "AttributeValueList": values}}},
    )


def query_filter_many() -> Hostile:
    """A Query with conditions that all hold, so that each is evaluated for every item of a page."""
    members = {
        "TableName": TINY,
        "KeyConditions": {"pk": {"ComparisonOperator": "EQ", "AttributeValueList": [{"S": TINY}]}},
        "QueryFilter": "@conditions",
    }
    conditions = json_map(names_of(b"x", QUERY_CONDITIONS), b'{"ComparisonOperator":"NULL"}')
    return spliced("Query", members, {"conditions": conditions})


def expected_many() -> Hostile:
    """A PutItem with conditions that all hold, on an item that does not exist."""
    members = {"TableName": TABLE, "Item": key("expected"), "Expected": "@conditions"}
    conditions = json_map(names_of(b"x", EXPECTED_ENTRIES), b'{"Exists":false}')
    return spliced("PutItem", members, {"conditions": conditions})


KINDS = (
    Kind("scan-filter-in-100000", scan_filter_in, ("200",), (TINY,)),
    Kind("query-filter-20000", query_filter_many, (REFUSED,), (TINY,)),
    Kind("expected-100000", expected_many, (REFUSED,)),
)
