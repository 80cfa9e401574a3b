"""Which documents do tests of models begin with? SHOP, of which there is nothing to tell, and changes of it."""

import json
from typing import Any

import msgspec

from hashrange.toolkit.models.document import SchemaDocument, parse_document

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


NOTES: Document = {
    "name": "notes",
    "tables": [
        {
            "TableName": "Notes",
            "AttributeDefinitions": [
                {"AttributeName": "id", "AttributeType": "S"},
                {"AttributeName": "author", "AttributeType": "S"},
            ],
            "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
            "VectorIndexes": [
                {
                    "IndexName": "meaning",
                    "VectorAttribute": {"AttributeName": "embedding"},
                    "Dimensions": 2,
                    "DistanceFunction": "COSINE",
                    "Projection": {"ProjectionType": "ALL"},
                    "SearchSchema": [{"AttributeName": "author", "SearchSchemaElementType": "HASH"}],
                }
            ],
        },
        {
            "TableName": "Authors",
            "AttributeDefinitions": [
                {"AttributeName": "country", "AttributeType": "S"},
                {"AttributeName": "number", "AttributeType": "N"},
                {"AttributeName": "photo", "AttributeType": "B"},
            ],
            "KeySchema": [
                {"AttributeName": "country", "KeyType": "HASH"},
                {"AttributeName": "number", "KeyType": "RANGE"},
            ],
            "GlobalSecondaryIndexes": [
                {
                    "IndexName": "photos",
                    "KeySchema": [
                        {"AttributeName": "photo", "KeyType": "HASH"},
                        {"AttributeName": "country", "KeyType": "HASH"},
                        {"AttributeName": "number", "KeyType": "RANGE"},
                    ],
                    "Projection": {"ProjectionType": "KEYS_ONLY"},
                }
            ],
        },
    ],
    "entities": [
        {
            "name": "Note",
            "table": "Notes",
            "key": {"id": "{id}"},
            "attributes": {"id": _attribute(), "author": _attribute(), "embedding": {"type": "L"}},
            "samples": [
                {"id": "n1", "author": "ann", "embedding": [1, 0]},
                {"id": "n2", "author": "ann", "embedding": [0.5, 0.5]},
                {"id": "n3", "author": "bob", "embedding": [1, 0]},
            ],
        },
        {
            "name": "Author",
            "table": "Authors",
            "key": {"country": "{country}", "number": "{number}"},
            "attributes": {"country": _attribute(), "number": _attribute("N"), "photo": {"type": "B"}},
            "samples": [{"country": "it", "number": 9, "photo": "AAE="}, {"country": "it", "number": 10}],
        },
    ],
    "accessPatterns": [
        {
            "name": "likeThis",
            "entities": ["Note"],
            "operation": "SearchVectors",
            "index": "meaning",
            "condition": {"author": "{who}"},
            "topK": 5,
            "sample": {"values": {"who": "ann"}, "vector": [1, 0], "itemCount": 2},
        },
        {
            "name": "firstAuthors",
            "entities": ["Author"],
            "operation": "Query",
            "partitionKey": "{country}",
            "sortKey": {"condition": "<", "values": ["{number}"]},
            "sample": {"values": {"country": "it", "number": 10}, "itemCount": 1},
        },
        {
            "name": "authorOfPhoto",
            "entities": ["Author"],
            "operation": "Query",
            "index": "photos",
            "partitionKey": ["{photo}", "{country}"],
            "attributes": ["number"],
            "sample": {"values": {"photo": "AAE=", "country": "it"}, "itemCount": 1},
        },
    ],
}
"""Two tables, with a vector index, and an index whose partition key has two attributes."""


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
    return parse_document(msgspec.json.encode(document), "model.json")
