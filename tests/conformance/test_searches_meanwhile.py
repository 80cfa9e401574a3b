"""SearchVectors while the table changes: a search finds all, or refuses."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.conformance.item_tables import text
from tests.conformance.searches import VECTOR, make_vector_table, vector, vector_index
from tests.support.raw_client import RawClient

FOUND = 10


DELETED: dict[str, tuple[str, dict[str, object], tuple[str, ...]]] = {
    "table": ("DeleteTable", {}, ("ResourceNotFoundException",)),
    "index": (
        "UpdateTable",
        {"VectorIndexUpdates": [{"Delete": {"IndexName": "plain"}}]},
        ("ValidationException",),
    ),
}


@pytest.mark.parametrize("what", DELETED)
def test_what_is_searched_is_deleted_meanwhile(raw: RawClient, what: str) -> None:
    table = make_vector_table(raw, vector_index("plain", dimensions=2))
    operation, members, codes = DELETED[what]
    for first in range(0, 400, 25):
        puts = [
            {"PutRequest": {"Item": {"pk": text(str(number)), VECTOR: {"L": vector(number, 1)}}}}
            for number in range(first, first + 25)
        ]
        assert raw("BatchWriteItem", {"RequestItems": {table.name: puts}}).status == 200
    request = {"TableName": table.name, "IndexName": "plain", "SearchVector": vector(1, 1), "TopK": FOUND}
    with ThreadPoolExecutor(4) as pool:
        replies = [pool.submit(raw, "SearchVectors", request) for _ in range(12)]
        deleted = pool.submit(raw, operation, {"TableName": table.name} | members)
        replies += [pool.submit(raw, "SearchVectors", request) for _ in range(12)]
    assert deleted.result().status == 200
    for reply in [one.result() for one in replies]:
        if reply.status == 200:
            assert len(reply.json()["SearchResults"]) == FOUND
        else:
            assert reply.json()["__type"].rpartition("#")[2] in codes, reply.body
