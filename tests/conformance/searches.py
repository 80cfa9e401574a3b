"""What the tests of searches share: tables with vector indexes, and short forms of vectors and requests."""

from collections.abc import Iterable
from typing import Any

from tests.conformance.item_tables import DataTable, Item, text
from tests.conformance.propagation import propagated
from tests.conformance.tables import create_request, fresh_name
from tests.support.raw_client import RawClient

VECTOR = "embedding"


def vector(*numbers: float | str) -> list[dict[str, str]]:
    """A vector as requests have it: a list of numbers."""
    return [{"N": str(number)} for number in numbers]


def vector_index(name: str, distance: str = "COSINE", dimensions: int = 3, **members: Any) -> dict[str, Any]:
    """An index of the attribute `embedding` that projects all attributes; None omits a member."""
    index = {
        "IndexName": name,
        "VectorAttribute": {"AttributeName": VECTOR},
        "Dimensions": dimensions,
        "DistanceFunction": distance,
        "Projection": {"ProjectionType": "ALL"},
    } | members
    return {member: value for member, value in index.items() if value is not None}


def search_schema(hash_name: str | None = None, *filter_names: str) -> list[dict[str, str]]:
    """A SearchSchema."""
    elements = [] if hash_name is None else [{"AttributeName": hash_name, "SearchSchemaElementType": "HASH"}]
    return elements + [{"AttributeName": name, "SearchSchemaElementType": "INLINE_FILTER"} for name in filter_names]


def make_vector_table(raw: RawClient, *indexes: dict[str, Any], **types: str) -> DataTable:
    """A table with the partition key `pk` (S) and these vector indexes; `types`: those of search schema attributes."""
    name = fresh_name("vectors")
    definitions = [{"AttributeName": name, "AttributeType": kind} for name, kind in ({"pk": "S"} | types).items()]
    request = create_request(
        name,
        AttributeDefinitions=definitions,
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        VectorIndexes=list(indexes),
    )
    reply = raw("CreateTable", request)
    assert reply.status == 200, reply.body
    return DataTable(raw, name, reply.json()["TableDescription"]["TableArn"])


def put_vectors(table: DataTable, items: Iterable[tuple[str, Iterable[float | str], Item]]) -> None:
    """Put items: partition key, vector, further attributes. Afterwards they are in the indexes."""
    for key, numbers, attributes in items:
        table.put({"pk": text(key), VECTOR: {"L": vector(*numbers)}} | attributes)
    propagated(table.raw)


def search(table: DataTable, index: str, *numbers: float | str, **members: Any) -> list[tuple[str, float]]:
    """Partition key and score of each item that is found."""
    return [(one["Item"]["pk"]["S"], one["Score"]) for one in searched(table, index, *numbers, **members)]


def searched(table: DataTable, index: str, *numbers: float | str, **members: Any) -> list[dict[str, Any]]:
    """SearchResults of a search for a vector."""
    wanted = {"IndexName": index, "SearchVector": vector(*numbers), "TopK": 100} | members
    results: list[dict[str, Any]] = table.ask("SearchVectors", **wanted)["SearchResults"]
    return results
