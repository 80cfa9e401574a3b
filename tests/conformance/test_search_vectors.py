"""SearchVectors: what is found, in which order, what results hold, and what a search consumes.

Sources: vectors.md 10 and 11.
"""

from typing import Any

import pytest

from tests.conformance.item_tables import DataTable, number, text
from tests.conformance.searches import (
    VECTOR,
    make_vector_table,
    put_vectors,
    search,
    search_schema,
    searched,
    vector,
    vector_index,
)
from tests.support.raw_client import RawClient

FIXTURE: dict[str, tuple[Any, ...]] = {"a": (1, 0, 0), "b": (0, 1, 0), "c": (-1, 0, 0), "d": ("0.6", "0.8", 0)}
SCORES = {
    "COSINE": [("a", 0), ("d", 0.4), ("b", 1), ("c", 2)],
    "EUCLIDEAN": [("a", 0), ("d", 0.8944271909999159), ("b", 1.4142135623730951), ("c", 2)],
    "DOT_PRODUCT": [("a", 1), ("d", 0.6), ("b", 0), ("c", -1)],
}


@pytest.fixture(scope="session")
def distances(raw: RawClient) -> DataTable:
    """A table with an index for each distance function, named after it, and the captured vectors."""
    table = make_vector_table(raw, *[vector_index(name, name) for name in SCORES])
    put_vectors(table, [(key, numbers, {"label": text(f"item {key}")}) for key, numbers in FIXTURE.items()])
    return table


@pytest.fixture(scope="session")
def projections(raw: RawClient) -> DataTable:
    """A table with an index for each projection, and one item."""
    schema = search_schema("tenant", "kind")
    kinds: dict[str, dict[str, Any]] = {
        "ALL": {"ProjectionType": "ALL"},
        "KEYS_ONLY": {"ProjectionType": "KEYS_ONLY"},
        "INCLUDE": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["label"]},
    }
    indexes = [vector_index(name, SearchSchema=schema, Projection=kind) for name, kind in kinds.items()]
    table = make_vector_table(raw, *indexes, tenant="S", kind="N")
    attributes = {"tenant": text("t"), "kind": number(7), "label": text("é"), "m": {"M": {"x": number(1)}}}
    put_vectors(table, [("a", ("0.1", "16777217", 1), attributes)])
    return table


# --- ranking ------------------------------------------------------------------------------------


@pytest.mark.parametrize("distance", sorted(SCORES))
def test_the_most_similar_come_first(distances: DataTable, distance: str) -> None:
    found = search(distances, distance, 1, 0, 0)
    assert [key for key, _ in found] == [key for key, _ in SCORES[distance]]
    for (_, score), (_, expected) in zip(found, SCORES[distance], strict=True):
        if isinstance(expected, int):
            assert score == expected
        else:
            assert score == pytest.approx(expected, rel=0, abs=5e-7)


@pytest.mark.parametrize("distance", sorted(SCORES))
@pytest.mark.parametrize("top_k", [1, 2, 3, 4, 5, 100])
def test_at_most_top_k_are_found(distances: DataTable, distance: str, top_k: int) -> None:
    keys = [key for key, _ in search(distances, distance, 1, 0, 0, TopK=top_k)]
    assert keys == [key for key, _ in SCORES[distance]][:top_k]


def test_an_index_with_nothing_in_it_finds_nothing(raw: RawClient) -> None:
    table = make_vector_table(raw, vector_index("vix"))
    assert table.ask("SearchVectors", IndexName="vix", SearchVector=vector(1, 0, 0), TopK=1) == {"SearchResults": []}


def test_an_index_follows_its_items(raw: RawClient) -> None:
    table = make_vector_table(raw, vector_index("vix", "EUCLIDEAN", 2))
    put_vectors(table, [("a", (0, 0), {}), ("b", (3, 4), {})])
    assert search(table, "vix", 0, 0) == [("a", 0), ("b", 5)]
    put_vectors(table, [("a", (6, 8), {})])
    assert search(table, "vix", 0, 0) == [("b", 5), ("a", 10)]
    table.update({"pk": text("b")}, f"REMOVE {VECTOR}")
    put_vectors(table, [])
    assert search(table, "vix", 0, 0) == [("a", 10)]
    table.ask("DeleteItem", Key={"pk": text("a")})
    put_vectors(table, [])
    assert search(table, "vix", 0, 0) == []


def test_more_entries_than_one_page(raw: RawClient) -> None:
    table = make_vector_table(raw, vector_index("vix", "EUCLIDEAN", 1))
    put_vectors(table, [(str(place), (place,), {"large": text("x" * 20_000)}) for place in range(300)])
    found = search(table, "vix", "149.6", TopK=2)
    assert [key for key, _ in found] == ["150", "149"]
    assert [score for _, score in found] == pytest.approx([0.4, 0.6], abs=1e-4)


def test_vectors_of_as_many_dimensions_as_there_may_be(raw: RawClient) -> None:
    table = make_vector_table(raw, vector_index("vix", dimensions=4096))
    numbers = [f"0.{place:04}" for place in range(1, 4097)]
    put_vectors(table, [("a", numbers, {}), ("b", numbers[::-1], {})])
    results = searched(table, "vix", *numbers, TopK=1, ProjectionExpression=f"pk, {VECTOR}")
    assert [(one["Item"]["pk"], one["Score"]) for one in results] == [(text("a"), 0)]
    shown = [one["N"].rstrip("0") for one in results[0]["Item"][VECTOR]["L"]]
    assert shown == [number.rstrip("0") for number in numbers]


def test_the_table_may_be_named_by_its_arn(distances: DataTable) -> None:
    members = {"TableName": distances.arn, "IndexName": "COSINE", "SearchVector": vector(1, 0, 0), "TopK": 1}
    reply = distances.raw("SearchVectors", members)
    assert reply.json()["SearchResults"][0]["Item"]["pk"] == text("a")


def test_unknown_members_are_ignored(distances: DataTable) -> None:
    found = search(distances, "COSINE", 1, 0, 0, Limit=1, ConsistentRead=True, ExclusiveStartKey=5, Select="COUNT")
    assert len(found) == 4


# --- what results hold --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("index", "names"),
    [
        ("ALL", {"pk", "tenant", "kind", "label", "m"}),
        ("KEYS_ONLY", {"pk", "tenant", "kind"}),
        ("INCLUDE", {"pk", "tenant", "kind", "label"}),
    ],
)
def test_a_result_holds_what_the_index_projects_without_the_vector(
    projections: DataTable, index: str, names: set[str]
) -> None:
    condition = {"SearchConditionExpression": "tenant = :t", "ExpressionAttributeValues": {":t": text("t")}}
    (result,) = searched(projections, index, 1, 1, 1, **condition)
    assert result.keys() == {"Item", "Score"}
    assert result["Item"].keys() == names
    assert result["Item"]["kind"] == number(7)


@pytest.mark.parametrize(
    ("index", "expression", "shown"),
    [
        ("ALL", "label, m.x", {"label": text("é"), "m": {"M": {"x": number(1)}}}),
        ("ALL", "absent", {}),
        ("KEYS_ONLY", "label, pk", {"pk": text("a")}),
        ("KEYS_ONLY", f"pk, {VECTOR}", {"pk": text("a"), VECTOR: {"L": vector("0.1", "16777216.0", "1.0")}}),
        ("INCLUDE", f"{VECTOR}[1]", {VECTOR: {"L": vector("16777216.0")}}),
        ("ALL", "#l, #v", {"label": text("é"), VECTOR: {"L": vector("0.1", "16777216.0", "1.0")}}),
    ],
)
def test_a_projection_selects_of_what_the_entry_holds(
    projections: DataTable, index: str, expression: str, shown: dict[str, Any]
) -> None:
    members: dict[str, Any] = {
        "SearchConditionExpression": "tenant = :t",
        "ExpressionAttributeValues": {":t": text("t")},
        "ProjectionExpression": expression,
    }
    if "#" in expression:
        members["ExpressionAttributeNames"] = {"#l": "label", "#v": VECTOR}
    (result,) = searched(projections, index, 1, 1, 1, **members)
    assert result["Item"] == shown


def test_the_table_keeps_the_digits(projections: DataTable) -> None:
    item = projections.get({"pk": text("a")})
    assert item is not None
    assert item[VECTOR] == {"L": vector("0.1", "16777217", "1")}


def test_results_of_more_than_16_mb_are_refused(raw: RawClient) -> None:
    table = make_vector_table(raw, vector_index("vix", "EUCLIDEAN", 1))
    put_vectors(table, [(str(place), (place,), {"large": text("x" * 390_000)}) for place in range(44)])
    members: dict[str, Any] = {"IndexName": "vix", "SearchVector": vector(0), "TableName": table.name, "TopK": 100}
    refused = raw("SearchVectors", members)
    assert refused.status == 400
    assert refused.json()["message"] == (
        "The results of the search exceed the limit of 16777216 bytes. Use a smaller projection or TopK"
    )
    assert len(search(table, "vix", 0, TopK=43)) == 43
    assert len(search(table, "vix", 0, ProjectionExpression="pk")) == 44


# --- capacity -----------------------------------------------------------------------------------


@pytest.mark.parametrize("detail", ["TOTAL", "INDEXES"])
def test_a_search_consumes_the_bytes_that_it_reads(distances: DataTable, raw: RawClient, detail: str) -> None:
    members: dict[str, Any] = {"SearchVector": vector(1, 0, 0), "TopK": 1, "ReturnConsumedCapacity": detail}
    reply = distances.ask("SearchVectors", IndexName="COSINE", **members)
    assert reply["ConsumedCapacity"] == {"VectorSearchRequestBytes": 1024.0}
    table = make_vector_table(raw, vector_index("vix"))
    put_vectors(table, [(key, numbers, {"large": text("x" * 1_000)}) for key, numbers in FIXTURE.items()])
    entry_bytes = len("pk" + "a") + len(VECTOR) + 4 * 3 + len("large") + 1_000
    for condition in ({}, {"ProjectionExpression": "pk"}):
        reply = table.ask("SearchVectors", IndexName="vix", **members, **condition)
        assert reply["ConsumedCapacity"] == {"VectorSearchRequestBytes": 4.0 * entry_bytes}


def test_only_the_entries_of_one_hash_value_are_read(raw: RawClient) -> None:
    table = make_vector_table(
        raw, vector_index("vix", SearchSchema=search_schema("tenant", "kind")), tenant="S", kind="S"
    )
    put_vectors(
        table,
        [
            (str(place), (1, place, 0), {"tenant": text(f"t{place % 3}"), "kind": text("k"), "x": text("x" * 2_000)})
            for place in range(30)
        ],
    )
    entry_bytes = 2_000 + len("x" + "pk" + "1" + "tenant" + "t1" + "kind" + "k") + len(VECTOR) + 12
    reply = table.ask(
        "SearchVectors",
        IndexName="vix",
        SearchVector=vector(1, 0, 0),
        TopK=100,
        SearchConditionExpression="tenant = :t AND kind = :k",
        ExpressionAttributeValues={":t": text("t1"), ":k": text("other")},
        ReturnConsumedCapacity="TOTAL",
    )
    assert reply["SearchResults"] == []
    assert 10 * entry_bytes <= reply["ConsumedCapacity"]["VectorSearchRequestBytes"] <= 10 * (entry_bytes + 1)


@pytest.mark.parametrize("members", [{}, {"ReturnConsumedCapacity": "NONE"}, {"ReturnConsumedCapacity": None}])
def test_capacity_is_told_only_if_asked_for(distances: DataTable, members: dict[str, Any]) -> None:
    reply = distances.ask("SearchVectors", IndexName="COSINE", SearchVector=vector(1, 0, 0), TopK=1, **members)
    assert reply.keys() == {"SearchResults"}


# --- an SDK -------------------------------------------------------------------------------------


def test_an_sdk_searches(client: Any) -> None:
    client.create_table(
        TableName="sdk-vectors",
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
        VectorIndexes=[vector_index("vix")],
    )
    for key, numbers in FIXTURE.items():
        client.put_item(TableName="sdk-vectors", Item={"pk": text(key), VECTOR: {"L": vector(*numbers)}})
    wanted = {"TableName": "sdk-vectors", "IndexName": "vix", "SearchVector": vector(1, 0, 0), "TopK": 2}
    reply = client.search_vectors(**wanted, ReturnConsumedCapacity="TOTAL")
    assert {one["Item"]["pk"]["S"] for one in reply["SearchResults"]} <= set(FIXTURE)
    assert reply["ConsumedCapacity"]["VectorSearchRequestBytes"] >= 1024
