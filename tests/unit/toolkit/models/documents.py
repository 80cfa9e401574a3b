"""Which documents do tests of models begin with? SHOP, of which there is nothing to tell, and changes of it."""

import json
from typing import Any

import msgspec

from hashrange.toolkit.models.document import SchemaDocument, read_document

Document = dict[str, Any]


def _attribute(kind: str = "S", **others: Any) -> Document:
    return {"type": kind, "required": True} | others


SHOP: Document = {
    "name": "shop",
    "tables": [
        {
            "TableName": "Shop",
            "AttributeDefinitions": [
                {"AttributeName": name, "AttributeType": "S"} for name in ("PK", "SK", "GSI1PK", "GSI1SK")
            ],
            "KeySchema": [
                {"AttributeName": "PK", "KeyType": "HASH"},
                {"AttributeName": "SK", "KeyType": "RANGE"},
            ],
            "GlobalSecondaryIndexes": [
                {
                    "IndexName": "GSI1",
                    "KeySchema": [
                        {"AttributeName": "GSI1PK", "KeyType": "HASH"},
                        {"AttributeName": "GSI1SK", "KeyType": "RANGE"},
                    ],
                    "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["total"]},
                }
            ],
        }
    ],
    "entityTypeAttribute": "kind",
    "entities": [
        {
            "name": "Customer",
            "key": {"PK": "CUSTOMER#{customer}", "SK": "PROFILE"},
            "attributes": {"customer": _attribute(), "name": _attribute()},
            "itemCount": 1000,
            "itemBytes": 200,
            "writesPerSecond": 1,
            "samples": [{"customer": "ann", "name": "Ann"}],
        },
        {
            "name": "Order",
            "key": {"PK": "CUSTOMER#{customer}", "SK": "ORDER#{created}"},
            "indexes": {"GSI1": {"GSI1PK": "STATUS#{status}#{shop}", "GSI1SK": "{created}"}},
            "attributes": {
                "customer": _attribute(),
                "created": _attribute(),
                "status": _attribute(),
                "shop": _attribute(),
                "total": _attribute("N"),
                "count": {"type": "N"},
                "paid": {"type": "BOOL"},
            },
            "itemCount": 10000,
            "itemBytes": 1500,
            "writesPerSecond": 10,
            "samples": [
                {"customer": "ann", "created": "2026-11-01", "status": "open", "shop": "a", "total": 20, "paid": True},
                {"customer": "ann", "created": "2026-11-02", "status": "done", "shop": "a", "total": 30},
            ],
        },
    ],
    "accessPatterns": [
        {
            "name": "customerWithOrders",
            "entities": ["Customer", "Order"],
            "operation": "Query",
            "partitionKey": "CUSTOMER#{customer}",
            "requestsPerSecond": 20,
            "itemsPerRequest": 5,
            "sample": {"values": {"customer": "ann"}, "itemCount": 3},
        },
        {
            "name": "customer",
            "entities": ["Customer"],
            "operation": "GetItem",
            "key": {"PK": "CUSTOMER#{customer}", "SK": "PROFILE"},
            "requestsPerSecond": 100,
            "sample": {"values": {"customer": "ann"}, "itemCount": 1},
        },
        {
            "name": "ordersOfStatus",
            "entities": ["Order"],
            "operation": "Query",
            "index": "GSI1",
            "partitionKey": "STATUS#{status}#{shop}",
            "sortKey": {"condition": "begins_with", "values": ["{month}"]},
            "attributes": ["GSI1SK", "total"],
            "sample": {"values": {"status": "open", "shop": "a", "month": "2026-11"}, "itemCount": 1},
        },
    ],
}


def changed(changes: Document, document: Document = SHOP) -> Document:
    """A document with other values at places such as `entities/0/name`; None takes the member out."""
    made: Document = json.loads(json.dumps(document))
    for path, value in changes.items():
        *parents, last = [int(one) if one.isdecimal() else one for one in path.split("/")]
        at: Any = made
        for one in parents:
            at = at[one]
        if value is None:
            del at[last]
        elif last == "+":
            at.append(value)
        else:
            at[last] = value
    return made


def read(document: Document) -> SchemaDocument:
    return read_document(msgspec.json.encode(document), "model.json")
