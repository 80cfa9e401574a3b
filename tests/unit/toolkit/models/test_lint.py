"""Each rule is found in a document that breaks it, and nothing is found in one that breaks none."""

from functools import partial
from typing import Any

import pytest

from hashrange.toolkit.models.document import SchemaDocument
from hashrange.toolkit.models.faults import document_faults
from hashrange.toolkit.models.lint import find
from hashrange.toolkit.models.running import ModelRun, run_model
from hashrange.toolkit.target import Target
from tests.unit.toolkit.models.documents import SHOP, Document, changed, read
from tests.unit.toolkit.models.steps import lines_of

ORDERS, STATUS, CUSTOMER = "accessPatterns/0", "accessPatterns/2", "accessPatterns/1"
GSI1 = "tables/0/GlobalSecondaryIndexes/0"
SECOND_INDEX = {
    "IndexName": "GSI2",
    "KeySchema": [{"AttributeName": "SK", "KeyType": "HASH"}, {"AttributeName": "PK", "KeyType": "RANGE"}],
    "Projection": {"ProjectionType": "ALL"},
}
STATED = {"Shop": {"readUnits": 80, "writeUnits": 21, "storageBytes": 16300000}}


def found(target: Target, document: Document) -> dict[str, str]:
    """Rule → place, of findings that ask for something."""
    made = read(document)
    assert list(document_faults(made)) == []
    run = run_model(target, made, is_kept=False, waits=False)
    return {one.rule: one.place for one in find(made, run) if one.level != "note"}


def test_nothing_is_found_in_a_good_model(target: Target) -> None:
    assert found(target, changed({})) == {}


@pytest.mark.parametrize(
    ("changes", "rules"),
    [
        ({"entities/1/key/SK": "{created}"}, {"collision": "entities Customer and Order"}),
        ({"entities/1/key/SK": "{created}", "entities/1/attributes/created/begins": "2026"}, {}),
        ({"entities/0/key/PK": "ALL", CUSTOMER + "/key/PK": "ALL", ORDERS + "/sample/itemCount": 2},
         {"few-keys": "entity Customer"}),
        ({"entities/1/indexes/GSI1/GSI1PK": "{status}", STATUS + "/partitionKey": "{status}"},
         {"few-keys": "entity Order"}),
        ({"entities/1/indexes/GSI1/GSI1PK": "{status}", STATUS + "/partitionKey": "{status}",
          "entities/1/attributes/status/distinctValues": 1000}, {}),
        ({"entities/1/indexes/GSI1/GSI1PK": "{status}", STATUS + "/partitionKey": "{status}",
          "entities/1/attributes/status/distinctValues": 3}, {"few-keys": "entity Order"}),
        ({"entities/1/indexes/GSI1/GSI1PK": "{status}", STATUS + "/partitionKey": "{status}",
          "entities/1/writesPerSecond": 4000}, {"few-keys": "entity Order"}),  # nobody says of how many values
        ({"entities/1/attributes/status/distinctValues": 2, "entities/1/attributes/shop/distinctValues": 3,
          "entities/1/writesPerSecond": 4000}, {"hot-key": "entity Order"}),
        ({"entities/0/attributes/customer/distinctValues": 1000, CUSTOMER + "/requestsPerSecond": 6_100_000},
         {"hot-key": "access pattern customer"}),
        ({"entities/1/key/SK": "ORDER#{created}#{total}"}, {"number-in-text": "entity Order"}),
        ({"entities/1/itemBytes": 150_000, ORDERS + "/itemsPerRequest": 0}, {"large-item": "entity Order"}),
        ({"entities/0/samples/0/name": "x" * 110_000}, {"large-item": "entity Customer"}),
        ({CUSTOMER + "/operation": "Scan", CUSTOMER + "/key": None, CUSTOMER + "/sample/itemCount": 3,
          CUSTOMER + "/entities": ["Customer", "Order"]}, {"scan": "access pattern customer"}),
        ({STATUS + "/sortKey/values": [""]},
         {"begins-with-nothing": "access pattern ordersOfStatus", "refused": "access pattern ordersOfStatus"}),
        ({STATUS + "/sample/values/month": ""},
         {"begins-with-nothing": "access pattern ordersOfStatus", "refused": "access pattern ordersOfStatus"}),
        ({ORDERS + "/filter": [{"attribute": "status", "condition": "=", "values": ["open"]}],
          ORDERS + "/sample/itemCount": 1, ORDERS + "/entities": ["Order"]},
         {"filter": "access pattern customerWithOrders", "discarded": "access pattern customerWithOrders"}),
        ({ORDERS + "/filter": [{"attribute": "paid", "condition": "missing"}], ORDERS + "/sample/itemCount": 2}, {}),
        ({STATUS + "/attributes": ["status"]},
         {"projection": "access pattern ordersOfStatus", "refused": "access pattern ordersOfStatus"}),
        ({STATUS + "/attributes": None}, {"projection": "access pattern ordersOfStatus"}),
        ({GSI1 + "/Projection": {"ProjectionType": "ALL"}}, {"wide-projection": "index GSI1 of Shop"}),
        ({GSI1 + "/Projection": {"ProjectionType": "ALL"}, "tables/0/GlobalSecondaryIndexes/+": SECOND_INDEX},
         {"wide-projection": "index GSI1 of Shop", "project-everything": "table Shop",
          "unused-index": "index GSI2 of Shop", "few-keys": "entity Customer"}),
        ({"tables/0/GlobalSecondaryIndexes/+": SECOND_INDEX, STATUS: None, CUSTOMER: None},
         {"unused-index": "index GSI2 of Shop", "more-indexes-than-patterns": "table Shop",
          "few-keys": "entity Customer"}),
        ({STATUS + "/isConsistent": True},
         {"consistent-index": "access pattern ordersOfStatus", "refused": "access pattern ordersOfStatus"}),
        ({CUSTOMER + "/thenWrites": ["Customer"]}, {"read-before-write": "access pattern customer"}),
        ({CUSTOMER + "/sample": None}, {"not-run": "access pattern customer"}),
        ({ORDERS + "/itemsPerRequest": 50}, {"whole-items": "access pattern customerWithOrders"}),
        ({ORDERS + "/itemsPerRequest": 1000}, {"several-requests": "access pattern customerWithOrders"}),
        ({CUSTOMER + "/sample/itemCount": 2}, {"item-count": "access pattern customer"}),
        ({ORDERS + "/entities": ["Order"]}, {"other-items": "access pattern customerWithOrders"}),
        ({CUSTOMER: None, ORDERS: None}, {"no-pattern": "entity Customer"}),
        ({"accessPatterns": []}, {"no-patterns": "document"}),
        ({"entities/0/samples": [], CUSTOMER + "/sample/itemCount": 0, ORDERS + "/sample/itemCount": 2},
         {"no-samples": "entity Customer"}),
        ({"timeToLive": {"attribute": "created", "entities": {"Order": {"days": 1}}}},
         {"time-to-live": "entity Order"}),
        ({"capacity": {"tables": STATED}}, {}),
        ({"capacity": {"tables": STATED}, CUSTOMER + "/isConsistent": True}, {"capacity": "capacity of Shop"}),
    ],
)  # fmt: skip
def test_each_rule_is_found(target: Target, changes: dict[str, Any], rules: dict[str, str]) -> None:
    assert found(target, changed(changes)) == rules


def of_many(number: int) -> SchemaDocument:
    """A document with this many kinds of items in one index, and access patterns of it."""
    order, pattern = SHOP["entities"][1], SHOP["accessPatterns"][2]
    document = read(
        changed(
            {
                "entities": [
                    order | {"name": f"E{one}", "key": {"PK": f"E{one:03}#{{customer}}", "SK": "{created}"}}
                    for one in range(number)
                ],
                "accessPatterns": [
                    pattern | {"name": f"P{one}", "entities": [f"E{one}"], "partitionKey": "STATUS#{status}#{shop}"}
                    for one in range(number)
                ],
            }
        )
    )
    assert list(document_faults(document)) == []
    return document


def test_a_document_that_is_twice_as_large_takes_twice_the_steps() -> None:
    nothing = ModelRun(0, 0.0, [])
    small, large = (lines_of(partial(find, of_many(number), nothing)) for number in (100, 200))
    assert large < 2.2 * small
