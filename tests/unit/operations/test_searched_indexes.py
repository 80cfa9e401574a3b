"""From when on can a vector index be searched that is added to a table?"""

from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from hashrange.testing.database import Database, server
from tests.conformance.vectors import vector_index
from tests.unit.faults.kit import impatient, make_music

WANTED = {"TableName": "music", "IndexName": "vix", "SearchVector": [{"N": "1"}], "TopK": 100}


@pytest.fixture
def database() -> Iterator[Database]:
    with server() as running:
        running.clock.freeze()
        make_music(impatient(running))
        yield running


def refusal_of(client: Any) -> tuple[str, str]:
    with pytest.raises(ClientError) as caught:
        client.search_vectors(**WANTED)
    error = caught.value.response["Error"]
    return error["Code"], error["Message"]


def test_an_added_index_is_unknown_then_backfilling_then_complete(database: Database) -> None:
    client = impatient(database)
    for place in range(50):
        client.put_item(TableName="music", Item={"pk": {"S": str(place)}, "embedding": {"L": [{"N": str(place + 1)}]}})
    index = vector_index("vix", Dimensions=1, DistanceFunction="EUCLIDEAN")
    client.update_table(TableName="music", VectorIndexUpdates=[{"Create": index}])
    unknown = ("ValidationException", "The table does not have the specified index: vix")
    backfilling = ("ValidationException", "Cannot search backfilling vector index: vix")
    assert refusal_of(client) == unknown
    seen = []
    for _ in range(100):
        database.clock.advance(0.5)
        (shown,) = client.describe_table(TableName="music")["Table"]["VectorIndexes"]
        if shown["IndexStatus"] == "ACTIVE":
            break
        seen.append(refusal_of(client))
        assert seen[-1] == (backfilling if shown["Backfilling"] else unknown)
    assert seen.index(backfilling) > 0
    found = client.search_vectors(**WANTED)["SearchResults"]
    assert [one["Item"]["pk"]["S"] for one in found] == [str(place) for place in range(50)]
    client.update_table(TableName="music", VectorIndexUpdates=[{"Delete": {"IndexName": "vix"}}])
    assert refusal_of(client) == unknown
