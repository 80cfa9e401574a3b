"""Faults that meet searches of vector indexes: those of the table, of the index, and of the operation."""

from collections.abc import Iterator
from typing import Any

import pytest

from hashrange.faults.fault import Fault
from hashrange.testing.database import Database, server
from tests.unit.faults.kit import ARN, impatient, make_music, met, refusal

WANTED = {"TableName": "music", "IndexName": "vix", "SearchVector": [{"N": "1"}], "TopK": 1}


@pytest.fixture
def database() -> Iterator[Database]:
    """A database whose table has two vector indexes."""
    with server() as running:
        index = {
            "VectorAttribute": {"AttributeName": "embedding"},
            "Dimensions": 1,
            "DistanceFunction": "COSINE",
            "Projection": {"ProjectionType": "ALL"},
        }
        make_music(impatient(running), VectorIndexes=[index | {"IndexName": name} for name in ("vix", "other")])
        yield running


def search(client: Any, **members: Any) -> Any:
    return client.search_vectors(**WANTED | members)


def test_a_search_is_throttled_in_the_name_of_its_index(database: Database) -> None:
    client = impatient(database)
    database.faults.use(Fault("throttle", count=1))
    told = refusal(search, client)
    assert told["Error"]["Code"] == "ThrottlingException"
    reason = {"reason": "IndexReadKeyRangeThroughputExceeded", "resource": f"{ARN}/index/vix"}
    assert told["throttlingReasons"] == [reason]
    assert search(client)["SearchResults"] == []


def test_a_fault_of_one_index_meets_its_searches_alone(database: Database) -> None:
    client = impatient(database)
    database.faults.use(Fault("throttle", table="music", index="vix"))
    assert search(client, IndexName="other")["SearchResults"] == []
    client.scan(TableName="music")
    assert refusal(search, client)["Error"]["Code"] == "ThrottlingException"


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_fault_of_the_operation_meets_searches_alone(database: Database, when: Any) -> None:
    client = impatient(database)
    database.faults.use(Fault("error", operation="SearchVectors", when=when))
    client.scan(TableName="music")
    assert refusal(search, client)["Error"]["Code"] == "InternalServerError"
    assert met(database) == [(1, "SearchVectors")]


def test_what_is_refused_meets_no_fault(database: Database) -> None:
    client = impatient(database)
    database.faults.use(Fault("throttle"))
    assert refusal(search, client, TopK=101)["Error"]["Code"] == "ValidationException"
    assert met(database) == []
