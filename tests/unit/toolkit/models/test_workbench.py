"""A model of NoSQL Workbench becomes a document and again the same model; a document becomes a model."""

from functools import partial
from typing import Any

import msgspec
import pytest

from hashrange.toolkit.failures import UsageFault
from hashrange.toolkit.models.document import SchemaDocument, parse_document
from hashrange.toolkit.models.faults import document_faults
from hashrange.toolkit.models.files import document_text
from hashrange.toolkit.models.lint import find
from hashrange.toolkit.models.running import run_model
from hashrange.toolkit.models.workbench_reading import common_beginning, read_workbench
from hashrange.toolkit.models.workbench_writing import left_out, workbench_model
from hashrange.toolkit.target import Target
from tests.unit.toolkit.models.documents import NOTES, SHOP, changed, read
from tests.unit.toolkit.models.steps import lines_of

Model = dict[str, Any]
KEYS = {
    "PartitionKey": {"AttributeName": "PK", "AttributeType": "S"},
    "SortKey": {"AttributeName": "SK", "AttributeType": "S"},
}
METADATA = {"Author": "somebody", "DateCreated": "Jan 01, 2026, 10:00 AM", "Description": "a shop", "Version": "3.0"}
AN_ORDER = {"PK": {"S": "CUSTOMER#1"}, "SK": {"S": "ORDER#1"}, "lines": {"L": [{"M": {"n": {"N": "1"}}}]}}
ANOTHER = {"PK": {"S": "CUSTOMER#1"}, "SK": {"S": "ORDER#2"}, "paid": {"BOOL": True}, "by": {"S": "card"}}
A_PROFILE = {"PK": {"S": "CUSTOMER#1"}, "SK": {"S": "PROFILE"}, "tags": {"SS": ["a", "b"]}, "none": {"NULL": True}}
WITH_FACETS: Model = {
    "ModelName": "shop",
    "ModelMetadata": METADATA,
    "Later": {"member": 1},
    "DataModel": [
        {
            "TableName": "Shop",
            "KeyAttributes": KEYS,
            "NonKeyAttributes": [
                {"AttributeName": "by", "AttributeType": "S"},
                {"AttributeName": "lines", "AttributeType": "L"},
                {"AttributeName": "paid", "AttributeType": "BOOL"},
                {"AttributeName": "tags", "AttributeType": "SS"},
                {"AttributeName": "none", "AttributeType": "NULL"},
            ],
            "TableFacets": [
                {
                    "FacetName": "Order",
                    "KeyAttributeAlias": {"PartitionKeyAlias": "customer", "SortKeyAlias": "order"},
                    "TableData": [AN_ORDER, ANOTHER],
                    "NonKeyAttributes": ["paid", "by", "lines"],
                    "DataAccess": {"MySql": {}},
                },
                {
                    "FacetName": "Profile",
                    "KeyAttributeAlias": {"PartitionKeyAlias": "customer", "SortKeyAlias": "PROFILE"},
                    "TableData": [A_PROFILE, A_PROFILE | {"PK": {"S": "CUSTOMER#2"}}],
                    "NonKeyAttributes": ["tags", "none"],
                },
            ],
            "GlobalSecondaryIndexes": [
                {
                    "IndexName": "by-payment",
                    "KeyAttributes": {"PartitionKey": {"AttributeName": "by", "AttributeType": "S"}},
                    "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["paid"]},
                }
            ],
            "SampleDataFormats": {"by": ["identifiers", "UUID"]},
            "DataAccess": {"MySql": {}},
            "BillingMode": "PROVISIONED",
            "ProvisionedCapacitySettings": {"ProvisionedThroughput": {"ReadCapacityUnits": 5}},
        }
    ],
}
WITHOUT_FACETS: Model = {
    "ModelName": "log",
    "ModelMetadata": {"Version": "1.0"},
    "DataModel": [
        {
            "TableName": name,
            "KeyAttributes": {"PartitionKey": {"AttributeName": "device", "AttributeType": "N"}},
            "NonKeyAttributes": [{"AttributeName": "state", "AttributeType": "S"}],
            "TableData": [{"device": {"N": "1"}, "state": {"S": "on"}}, {"device": {"N": "2"}}],
        }
        for name in ("Log", "Log-of-tests")
    ],
}


def imported(model: Model) -> SchemaDocument:
    return read_workbench(msgspec.json.encode(model), "export.json")


@pytest.mark.parametrize("model", [WITH_FACETS, WITHOUT_FACETS])
def test_a_model_comes_back_as_it_was(model: Model) -> None:
    document = imported(model)
    assert list(document_faults(document)) == []
    kept = parse_document(document_text(document, "model.schema.json").encode(), "model.json")
    assert workbench_model(kept, "now") == model


@pytest.mark.parametrize("model", [WITH_FACETS, WITHOUT_FACETS])
def test_a_model_can_be_run(target: Target, model: Model) -> None:
    document = imported(model)
    run = run_model(target, document, is_kept=False, waits=False)
    assert run.item_count == 4
    assert {one.rule for one in find(document, run)} <= {"no-patterns", "several-tables"}


def large_model(number: int) -> Model:
    """A model with this many facets of one name, of items in no facet, and of attributes."""
    facets = [{"FacetName": "Order", "TableData": [AN_ORDER]} for _ in range(number)]
    items = [AN_ORDER | {"SK": {"S": f"x{one}"}, f"a{one}": {"S": ""}} for one in range(number)]
    [table] = [WITHOUT_FACETS["DataModel"][0]]
    return WITHOUT_FACETS | {"DataModel": [table | {"TableFacets": facets, "TableData": items}]}


def test_a_model_that_is_twice_as_large_takes_twice_the_steps() -> None:
    small, large = (lines_of(partial(imported, large_model(number))) for number in (100, 200))
    assert large < 2.2 * small


def test_each_facet_is_a_kind_with_its_items() -> None:
    order, profile = imported(WITH_FACETS).entities
    assert (order.name, profile.name) == ("Order", "Profile")
    assert order.items == [AN_ORDER, ANOTHER]
    assert order.attributes["SK"].begins == "ORDER#"
    assert profile.attributes["SK"].begins == "PROFILE"
    assert {name: one.type for name, one in order.attributes.items() if name not in {"PK", "SK"}} == {
        "lines": "L",
        "paid": "BOOL",
        "by": "S",
    }
    assert [one.name for one in imported(WITHOUT_FACETS).entities] == ["Item", "Item of Log-of-tests"]


def test_changes_reach_the_model() -> None:
    kept: Model = msgspec.to_builtins(imported(WITH_FACETS))
    kept["entities"][0]["items"] = [AN_ORDER | {"more": {"N": "7"}}]
    kept["tables"][0]["GlobalSecondaryIndexes"][0]["Projection"] = {"ProjectionType": "ALL"}
    [table] = workbench_model(read(kept), "now")["DataModel"]
    facet = table["TableFacets"][0]
    assert facet["TableData"] == [AN_ORDER | {"more": {"N": "7"}}]
    assert facet["NonKeyAttributes"] == ["paid", "by", "lines", "more"]
    assert table["GlobalSecondaryIndexes"][0]["Projection"] == {"ProjectionType": "ALL"}
    assert table["SampleDataFormats"] == {"by": ["identifiers", "UUID"]}


def test_what_is_kept_must_be_a_model() -> None:
    with pytest.raises(
        UsageFault, match="the document's workbench is no model of NoSQL Workbench: it lacks the member"
    ):
        workbench_model(read(SHOP | {"workbench": {"ModelName": "shop"}}), "now")


def test_a_document_becomes_a_model() -> None:
    document = read(SHOP)
    model = workbench_model(document, "Nov 30, 2026, 09:05 PM")
    assert model["ModelMetadata"]["DateCreated"] == "Nov 30, 2026, 09:05 PM"
    [table] = model["DataModel"]
    assert table["KeyAttributes"] == KEYS
    [index] = table["GlobalSecondaryIndexes"]
    assert index["KeyAttributes"]["SortKey"] == {"AttributeName": "GSI1SK", "AttributeType": "S"}
    assert [one["AttributeName"] for one in table["NonKeyAttributes"]][:3] == ["GSI1PK", "GSI1SK", "customer"]
    customer, order = table["TableFacets"]
    assert customer["KeyAttributeAlias"] == {"PartitionKeyAlias": "CUSTOMER#{customer}", "SortKeyAlias": "PROFILE"}
    assert order["TableData"][0]["total"] == {"N": "20"}
    assert order["TableData"][0]["GSI1PK"] == {"S": "STATUS#open#a"}
    assert imported(model).entities[1].items == order["TableData"]
    [sentence] = left_out(document)
    assert sentence.startswith("Access patterns are left out")


def test_what_a_model_cannot_say_is_told() -> None:
    local = {
        "IndexName": "local",
        "KeySchema": [{"AttributeName": "PK", "KeyType": "HASH"}, {"AttributeName": "GSI1SK", "KeyType": "RANGE"}],
        "Projection": {"ProjectionType": "ALL"},
    }
    assert [
        one.split(" are left")[0] for one in left_out(read(changed({"tables/0/LocalSecondaryIndexes": [local]})))
    ] == [
        "Access patterns",
        "Local secondary indexes of Shop",
    ]
    told = list(left_out(read(NOTES)))[1:]
    assert told == [
        "Vector indexes of Notes are left out: a model has none.",
        "The index photos is left out: in a model, each key has one attribute.",
    ]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (
            {"DataModel": None},
            "export.json is no model of NoSQL Workbench: it lacks the member DataModel: it must be a",
        ),
        (
            {"DataModel/0/KeyAttributes": {}},
            "export.json is no model of NoSQL Workbench: KeyAttributes of DataModel 1 lacks the member PartitionKey",
        ),
        (
            {"DataModel/0/GlobalSecondaryIndexes/0/Projection": {"ProjectionType": "SOME"}},
            "export.json is a model that DynamoDB has no tables for: ProjectionType of Projection of GlobalSecondaryI",
        ),
        (
            {"DataModel/0/TableFacets/1/NonKeyAttributes": 1},
            "export.json is no model of NoSQL Workbench: NonKeyAttributes of TableFacets 2 of DataModel 1 is 1; it mus",
        ),
        ({"DataModel": []}, "export.json is a model that DynamoDB has no tables for: tables has 0 values"),
    ],
)
def test_what_is_no_model_is_told(changes: Model, sentence: str) -> None:
    with pytest.raises(UsageFault) as raised:
        imported(changed(changes, WITH_FACETS))
    assert str(raised.value).startswith(sentence)


@pytest.mark.parametrize(
    ("values", "beginning"),
    [([], ""), (["A#1"], "A#"), (["A#1", "A#2"], "A#"), (["A", "A"], "A"), (["AB", "AC"], ""), (["A#", "A"], "")],
)
def test_keys_begin_with_what_is_before_a_separator(values: list[str], beginning: str) -> None:
    assert common_beginning(values) == beginning
