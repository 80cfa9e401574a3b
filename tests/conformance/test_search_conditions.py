"""SearchConditionExpression: which entries a search may find. Sources: vectors.md 9, 10 and 14; the developer guide's
reference, of which the beginning was read.
"""

from typing import Any

import pytest

from tests.conformance.item_tables import DataTable, Item, number, text
from tests.conformance.searches import make_vector_table, put_vectors, search, search_schema, vector, vector_index
from tests.conformance.tables import fault
from tests.support.raw_client import RawClient

INVALID = "Invalid SearchConditionExpression: "
OPERATOR = INVALID + "Invalid operator used in SearchConditionExpression"
COMPARATOR = INVALID + "Invalid comparator used in SearchConditionExpression"
ITEMS: dict[str, Item] = {
    "a": {"tenant": text("t1"), "kind": text("shoe"), "price": number("10.0"), "picture": {"B": "AAE="}},
    "b": {"tenant": text("t1"), "kind": text("shirt"), "price": number(20)},
    "c": {"tenant": text("t1"), "kind": text(""), "price": number("-3")},
    "d": {"tenant": text("t1")},
    "e": {"tenant": text("t2"), "kind": text("shoe"), "price": number(10)},
}


@pytest.fixture(scope="session")
def table(raw: RawClient) -> DataTable:
    """A table whose index `vix` has a HASH attribute, and whose index `filters` has none."""
    names = ("kind", "price", "picture")
    table = make_vector_table(
        raw,
        vector_index("vix", "EUCLIDEAN", 1, SearchSchema=search_schema("tenant", *names)),
        vector_index("filters", "EUCLIDEAN", 1, SearchSchema=search_schema(None, *names)),
        tenant="S",
        kind="S",
        price="N",
        picture="B",
    )
    put_vectors(table, [(key, (place,), item) for place, (key, item) in enumerate(ITEMS.items())])
    return table


def keys_of(table: DataTable, index: str, condition: str, values: dict[str, Any] | None, **members: Any) -> str:
    """The keys of the items that are found, in the order of their distances."""
    if values:
        members["ExpressionAttributeValues"] = values
    return "".join(key for key, _ in search(table, index, 0, SearchConditionExpression=condition, **members))


@pytest.mark.parametrize(
    ("condition", "values", "found"),
    [
        ("kind = :k", {":k": text("shoe")}, "ae"),
        ("price = :p", {":p": number("10.00")}, "ae"),
        ("price = :p AND kind = :k", {":p": number(20), ":k": text("shirt")}, "b"),
        ("kind = :k", {":k": text("")}, "c"),
        ("kind = :k", {":k": text("sho")}, ""),
        ("picture = :d", {":d": {"B": "AAE="}}, "a"),
        ("(kind = :k) AND (price = :p)", {":p": number(10), ":k": text("shoe")}, "ae"),
        ("price < :p", {":p": number(10)}, "c"),
        ("price <= :p", {":p": number(10)}, "ace"),
        ("price > :p", {":p": number(10)}, "b"),
        ("price >= :p AND price < :q", {":p": number(10), ":q": number("20.5")}, "abe"),
        (":p < price", {":p": number(10)}, "b"),
        ("price <> :p", {":p": number(10)}, "bcd"),
        ("price BETWEEN :p AND :q", {":p": number(-3), ":q": number(10)}, "ace"),
        ("kind IN (:k, :l)", {":k": text("shirt"), ":l": text("hat")}, "b"),
        ("price IN (:p)", {":p": number("1E1")}, "ae"),
        ("kind = :k OR price < :p", {":k": text("shirt"), ":p": number(0)}, "bc"),
        ("NOT kind = :k", {":k": text("shoe")}, "bcd"),
        ("NOT (kind = :k OR price < :p)", {":k": text("shirt"), ":p": number(0)}, "ade"),
        ("begins_with(kind, :k)", {":k": text("sh")}, "abe"),
        ("begins_with(#k, :k) AND price IN (:p, :q)", {":k": text("sho"), ":p": number(20), ":q": number(10)}, "ae"),
        ("attribute_exists(price)", None, "abce"),
        ("attribute_not_exists(price) OR picture = :d", {":d": {"B": "AAE="}}, "ad"),
    ],
)
def test_conditions_on_inline_filters(table: DataTable, condition: str, values: Any, found: str) -> None:
    members = {"ExpressionAttributeNames": {"#k": "kind"}} if "#k" in condition else {}
    assert keys_of(table, "filters", condition, values, **members) == found


def test_all_that_may_be_found_is_found(table: DataTable) -> None:
    """The filter comes before the ranking: nearer items that it refuses do not count for TopK."""
    assert keys_of(table, "filters", "kind = :k", {":k": text("shirt")}, TopK=1) == "b"


@pytest.mark.parametrize(
    ("condition", "found"),
    [
        ("tenant = :t", "abcd"),
        ("#t = :t AND price > :p", "b"),
        ("(price > :p) AND :t = tenant", "b"),
        ("tenant = :t AND (price > :p OR attribute_not_exists(price))", "bd"),
    ],
)
def test_a_hash_attribute_must_equal_one_value(table: DataTable, condition: str, found: str) -> None:
    values = {":t": text("t1")} | ({":p": number(10)} if ":p" in condition else {})
    members = {"ExpressionAttributeNames": {"#t": "tenant"}} if "#t" in condition else {}
    assert keys_of(table, "vix", condition, values, **members) == found
    values[":t"] = text("none")
    assert keys_of(table, "vix", condition, values, **members) == ""


def refusal(table: DataTable, index: str, condition: str, values: Any = None) -> str | None:
    members: dict[str, Any] = {"TableName": table.name, "IndexName": index, "SearchVector": vector(0), "TopK": 1}
    members |= {"SearchConditionExpression": condition, "ExpressionAttributeValues": values}
    code, message = fault(table.raw, "SearchVectors", members)
    assert code == "ValidationException"
    return message


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("tenant < :t", COMPARATOR),
        ("tenant <= :t", COMPARATOR),
        ("tenant > :t", COMPARATOR),
        (":t >= tenant", COMPARATOR),
        ("tenant <> :t", COMPARATOR),
        ("tenant IN (:t)", OPERATOR),
        ("tenant BETWEEN :t AND :t", OPERATOR),
        ("begins_with(tenant, :t)", OPERATOR),
        ("tenant = :t AND attribute_exists(tenant)", OPERATOR),
        ("NOT tenant = :t", OPERATOR),
        ("tenant = :t OR kind = :t", OPERATOR),
        (
            "tenant = :t AND tenant = :t",
            INVALID + "SearchConditionExpression must only contain one condition per attribute",
        ),
    ],
)
def test_what_else_a_hash_attribute_must_not_have(table: DataTable, condition: str, message: str) -> None:
    assert refusal(table, "vix", condition, {":t": text("t1")}) == message


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("contains(kind, :v)", OPERATOR),
        ("attribute_type(kind, :v)", OPERATOR),
        ("size(kind) = :v", OPERATOR),
        ("kind = price AND kind = :v", OPERATOR),
        ("kind IN (price, :v)", OPERATOR),
        ("kind BETWEEN price AND :v", OPERATOR),
        ("m.a = :v", INVALID + "SearchConditionExpression cannot have conditions on nested attributes"),
        ("kind[0] = :v", INVALID + "SearchConditionExpression cannot have conditions on nested attributes"),
        ("kind = :v AND", INVALID + 'Syntax error; token: "<EOF>", near: "AND"'),
        ("((kind = :v))", INVALID + "The expression has redundant parentheses;"),
        ("kind = :w", INVALID + "An expression attribute value used in expression is not defined; attribute value: :w"),
        (
            "#k = :v",
            INVALID + "An expression attribute name used in the document path is not defined; attribute name: #k",
        ),
        ("name = :v", INVALID + "Attribute name is a reserved keyword; reserved keyword: name"),
        ("begins(kind, :v)", INVALID + "Invalid function name; function: begins"),
    ],
)
def test_expressions_that_are_refused_before_the_table_is_looked_at(
    table: DataTable, condition: str, message: str
) -> None:
    values = {":v": text("S")}
    assert refusal(table, "filters", condition, values) == message
    assert refusal(table, "no-such-index", condition, values) == message


def test_types_of_all_values_are_compared_with_the_schema(table: DataTable) -> None:
    for condition in ("kind IN (:a, :b)", "kind = :a OR kind = :b", "NOT kind <> :b AND kind < :a"):
        assert refusal(table, "filters", condition, {":a": text("x"), ":b": number(1)}) == (
            "Type of 'kind' attribute in SearchConditionExpression (N) does not match type in search schema (S)"
        )
