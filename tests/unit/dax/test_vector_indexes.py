"""Items with vectors through DAX, which has no searches: are they in vector indexes, and refused by them?"""

from typing import Any

import cbor2
import pytest

from hashrange.testing import Database
from tests.conformance.vectors import vector_index
from tests.support.dax_client import DaxClient, DaxError, all_values

TABLE = b"notes"


@pytest.fixture
def client(database: Database) -> Any:
    """A client that asks DynamoDB, with a table that has a vector index."""
    client = database.client(region_name="eu-west-1")
    index = vector_index("near", VectorAttribute={"AttributeName": "meaning"}, Dimensions=2)
    client.create_table(
        TableName="notes",
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
        VectorIndexes=[index],
    )
    return client


def put(dax: DaxClient, name: str, meaning: Any) -> Any:
    return dax.call("putItem", TABLE, name.encode(), dax.item_bytes(meaning=meaning), {3: 2})


def found(client: Any) -> list[str]:
    wanted = {"TableName": "notes", "IndexName": "near", "SearchVector": [{"N": "1"}, {"N": "0"}], "TopK": 9}
    return [one["Item"]["id"]["S"] for one in client.search_vectors(**wanted)["SearchResults"]]


def test_items_are_in_vector_indexes(client: Any, dax: DaxClient) -> None:
    reply = put(dax, "a", [1, 0])
    name, *_, own, global_indexes, local_indexes = all_values(reply[1])
    assert (name, own, global_indexes, local_indexes) == ("notes", 1.0, None, None), "there is no place for vectors"
    put(dax, "b", [0, 1])
    assert found(client) == ["a", "b"]
    dax.call("deleteItem", TABLE, b"a", None)
    assert found(client) == ["b"]


def test_items_are_refused_in_the_words_of_dynamodb(client: Any, dax: DaxClient) -> None:
    with pytest.raises(DaxError) as caught:
        put(dax, "a", [1, cbor2.CBORTag(3321, ["a"])])
    assert caught.value.message == (
        "One or more parameter values were invalid. Invalid type for parameter meaning[1],"
        " Expected: 32-bit floating point number, Actual: SS. IndexName: near"
    )
    assert found(client) == []
