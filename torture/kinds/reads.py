"""Which reads cost most? Projections of long lists, and replies of many megabytes."""

from torture.kinds.kind import Hostile, Kind, plain
from torture.kinds.needs import (
    LARGE,
    LARGE_ITEMS,
    LIST_ELEMENTS,
    SPREAD,
    SPREAD_ITEMS,
    TABLE,
    large_key,
    spread_key,
)

PATHS = ",".join(f"l[{LIST_ELEMENTS - 1 - number}]" for number in range(430))
"""A projection of nearly the 4 KB that an expression may have."""
GZIP = (("Accept-Encoding", "gzip"),)
SPREAD_KEYS = [spread_key(number) for number in range(SPREAD_ITEMS)]
OF_ONE_PARTITION = {"KeyConditionExpression": "pk=:pk", "ExpressionAttributeValues": {":pk": {"S": LARGE}}}


def get_projected() -> Hostile:
    """A GetItem of some hundred elements of one list."""
    return plain("GetItem", {"TableName": TABLE, "Key": large_key(), "ProjectionExpression": PATHS})


def batch_projected() -> Hostile:
    """A BatchGetItem that projects some hundred list elements of twenty items."""
    asked = {"Keys": SPREAD_KEYS, "ProjectionExpression": PATHS}
    return plain("BatchGetItem", {"RequestItems": {TABLE: asked}})


def query_projected() -> Hostile:
    """A Query that projects some hundred list elements of the items of a page."""
    return plain("Query", {"TableName": TABLE, "ProjectionExpression": PATHS} | OF_ONE_PARTITION)


def batch_whole() -> Hostile:
    """A BatchGetItem with a reply of 20 MB."""
    return plain("BatchGetItem", {"RequestItems": {TABLE: {"Keys": SPREAD_KEYS}}})


def query_whole() -> Hostile:
    """A Query with a reply of 4 MB."""
    return plain("Query", {"TableName": TABLE} | OF_ONE_PARTITION)


def transaction() -> Hostile:
    """A TransactGetItems with a reply of 13 MB."""
    gets = [{"Get": {"TableName": TABLE, "Key": large_key(number)}} for number in range(LARGE_ITEMS)]
    return plain("TransactGetItems", {"TransactItems": gets})


KINDS = (
    Kind("get-projection", get_projected, ("200",), (LARGE,)),
    Kind("batch-get-projection", batch_projected, ("200",), (SPREAD,)),
    Kind("query-projection", query_projected, ("200",), (LARGE,)),
    Kind("batch-get-20mb", batch_whole, ("200",), (SPREAD,)),
    Kind("batch-get-20mb-gzip", lambda: batch_whole()._replace(headers=GZIP), ("200",), (SPREAD,)),
    Kind("query-page", query_whole, ("200",), (LARGE,)),
    Kind("query-page-gzip", lambda: query_whole()._replace(headers=GZIP), ("200",), (LARGE,)),
    Kind("transact-get-13", transaction, ("200",), (LARGE,)),
)
