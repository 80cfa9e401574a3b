"""A shop through DAX and directly: the same requests through both, each on a table of its own;
prints what each heard, as JSON.

Arguments: the endpoint of DynamoDB, that of DAX, and how to connect: `endpoints`, `endpoint_url`,
`plain_url`, or `resource`.
"""

import json
import sys
from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import partial
from typing import Any

import boto3
import botocore.session
from amazondax import AmazonDaxClient
from boto3.dynamodb.conditions import Attr, Key

REGION = "eu-west-1"
Step = Callable[[], Any]


def connect(dax_endpoint: str, way: str) -> Any:
    session = botocore.session.Session()
    session.set_credentials("AKIDEXAMPLE", "secret")
    place = dax_endpoint.partition("//")[2]
    if way == "endpoints":
        return AmazonDaxClient(session, region_name=REGION, endpoints=[place])
    return AmazonDaxClient(session, region_name=REGION, endpoint_url=dax_endpoint if way == "endpoint_url" else place)


def create(direct: Any, table: str) -> None:
    direct.create_table(
        TableName=table,
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
        AttributeDefinitions=[
            {"AttributeName": "pk", "AttributeType": "S"},
            {"AttributeName": "sk", "AttributeType": "N"},
            {"AttributeName": "kind", "AttributeType": "S"},
        ],
        GlobalSecondaryIndexes=[
            {
                "IndexName": "kinds",
                "KeySchema": [
                    {"AttributeName": "kind", "KeyType": "HASH"},
                    {"AttributeName": "sk", "KeyType": "RANGE"},
                ],
                "Projection": {"ProjectionType": "ALL"},
            }
        ],
        BillingMode="PAY_PER_REQUEST",
    )


def product(number: int, **more: Any) -> dict[str, Any]:
    item = {
        "pk": {"S": f"product-{number % 3}"},
        "sk": {"N": str(number)},
        "kind": {"S": "lamp" if number % 2 else "pen"},
        "cents": {"N": f"{number}.25"},
        "tags": {"SS": ["desk", "äther"]},
        "sizes": {"M": {"height": {"N": "41.25"}, "all": {"L": [{"N": "1"}, {"BOOL": True}, {"NULL": True}]}}},
        "picture": {"B": b"\x00\xff"},
        "codes": {"NS": ["-1.5", "4", "30"]},
    }
    return {**item, **more}


KEY = {"pk": {"S": "product-1"}, "sk": {"N": "1"}}
MISSING = {"pk": {"S": "nobody"}, "sk": {"N": "-7.5"}}


def steps(client: Any, table: str) -> Iterator[Step]:
    """What the shop does: each step is a function without arguments."""
    name = {"TableName": table}
    yield from [partial(client.put_item, Item=product(number), **name) for number in range(8)]
    yield lambda: client.get_item(Key=KEY, **name)
    yield lambda: client.get_item(Key=MISSING, **name)
    yield lambda: client.get_item(Key=KEY, ConsistentRead=True, ReturnConsumedCapacity="TOTAL", **name)
    yield lambda: client.get_item(
        Key=KEY, ProjectionExpression="sizes.#a[1], cents", ExpressionAttributeNames={"#a": "all"}, **name
    )
    yield lambda: client.put_item(Item=product(1), ConditionExpression="attribute_not_exists(pk)", **name)
    yield lambda: client.put_item(Item=product(1, stock={"N": "5"}), ReturnValues="ALL_OLD", **name)
    yield lambda: client.update_item(
        Key=KEY,
        UpdateExpression=(
            "SET stock = stock - :one, seen = if_not_exists(seen, :zero) + :one REMOVE sizes.height ADD codes :codes"
        ),
        ConditionExpression="stock >= :one AND (begins_with(kind, :l) OR size(tags) > :one)",
        ExpressionAttributeValues={":one": {"N": "1"}, ":zero": {"N": "0"}, ":l": {"S": "la"}, ":codes": {"NS": ["7"]}},
        ReturnValues="ALL_NEW",
        **name,
    )
    yield lambda: client.update_item(
        Key=KEY,
        UpdateExpression="SET stock = :none",
        ExpressionAttributeValues={":none": {"N": "0"}},
        ReturnValues="UPDATED_OLD",
        **name,
    )
    yield lambda: client.update_item(
        Key=KEY, UpdateExpression="SET absent = gone + :one", ExpressionAttributeValues={":one": {"N": "1"}}, **name
    )
    yield lambda: client.get_item(Key=KEY, **name)
    yield lambda: client.query(
        KeyConditionExpression="pk = :p AND sk BETWEEN :a AND :b",
        FilterExpression="contains(tags, :t) AND cents IN (:x, :y, :z)",
        ExpressionAttributeValues={
            ":p": {"S": "product-1"},
            ":a": {"N": "1"},
            ":b": {"N": "7"},
            ":t": {"S": "desk"},
            ":x": {"N": "4.25"},
            ":y": {"N": "7.25"},
            ":z": {"N": "9"},
        },
        ReturnConsumedCapacity="TOTAL",
        **name,
    )
    yield lambda: pages(
        client.query,
        KeyConditionExpression="pk = :p",
        ExpressionAttributeValues={":p": {"S": "product-0"}},
        Limit=2,
        ScanIndexForward=False,
        **name,
    )
    yield lambda: pages(
        client.query,
        IndexName="kinds",
        KeyConditionExpression="kind = :k",
        ExpressionAttributeValues={":k": {"S": "pen"}},
        Limit=3,
        **name,
    )
    yield lambda: client.query(
        KeyConditionExpression="pk = :p",
        ExpressionAttributeValues={":p": {"S": "product-2"}},
        ProjectionExpression="sk, sizes.height",
        **name,
    )
    yield lambda: client.query(
        KeyConditionExpression="pk = :p", ExpressionAttributeValues={":p": {"S": "product-2"}}, Select="COUNT", **name
    )
    yield lambda: pages(client.scan, Limit=5, **name)
    yield lambda: client.batch_write_item(
        RequestItems={
            table: [
                {"PutRequest": {"Item": product(20)}},
                {"DeleteRequest": {"Key": {"pk": {"S": "product-0"}, "sk": {"N": "0"}}}},
            ]
        }
    )
    yield lambda: client.batch_get_item(
        RequestItems={table: {"Keys": [KEY, MISSING, {"pk": {"S": "product-2"}, "sk": {"N": "20"}}]}}
    )
    yield lambda: client.transact_write_items(
        TransactItems=[
            {"Put": {"TableName": table, "Item": product(30), "ConditionExpression": "attribute_not_exists(pk)"}},
            {
                "Update": {
                    "TableName": table,
                    "Key": KEY,
                    "UpdateExpression": "SET sold = :s",
                    "ExpressionAttributeValues": {":s": {"N": "1"}},
                }
            },
            {
                "ConditionCheck": {
                    "TableName": table,
                    "Key": {"pk": {"S": "product-2"}, "sk": {"N": "2"}},
                    "ConditionExpression": "attribute_exists(pk)",
                }
            },
        ]
    )
    yield lambda: client.transact_get_items(
        TransactItems=[{"Get": {"TableName": table, "Key": key}} for key in (KEY, MISSING)]
    )
    yield lambda: client.transact_write_items(
        TransactItems=[
            {"Put": {"TableName": table, "Item": product(30), "ConditionExpression": "attribute_not_exists(pk)"}},
            {"Delete": {"TableName": table, "Key": MISSING}},
        ]
    )
    yield lambda: client.get_item(Key=KEY, **name)
    yield lambda: client.delete_item(Key=KEY, ReturnValues="ALL_OLD", **name)
    yield lambda: client.get_item(Key=KEY, **name)
    yield lambda: client.get_item(TableName="no-such-table", Key=KEY)
    yield lambda: client.update_item(
        Key=KEY, UpdateExpression="SET pk = :p", ExpressionAttributeValues={":p": {"S": "x"}}, **name
    )
    yield lambda: client.scan(Limit=2, IndexName="nowhere", **name)


def resource_steps(table: Any) -> Iterator[Step]:
    """The same with plain Python values."""
    key = {"pk": "product-1", "sk": 1}
    item = {**key, "kind": "lamp", "cents": Decimal("1.25"), "tags": {"b", "a"}, "sizes": {"all": [1, True, None]}}
    yield lambda: table.put_item(Item=item)
    yield lambda: table.get_item(Key=key)
    yield lambda: table.query(KeyConditionExpression=Key("pk").eq("product-1") & Key("sk").gte(0))
    yield lambda: table.scan(FilterExpression=Attr("tags").contains("a") | Attr("kind").begins_with("x"))
    yield lambda: table.update_item(
        Key=key,
        UpdateExpression="SET cents = cents + :c",
        ExpressionAttributeValues={":c": Decimal("0.5")},
        ReturnValues="ALL_NEW",
    )
    yield lambda: table.delete_item(Key=key, ReturnValues="ALL_OLD")


def pages(read: Any, **request: Any) -> Any:
    """All pages of a query or scan."""
    found = [read(**request)]
    while "LastEvaluatedKey" in found[-1]:
        found.append(read(ExclusiveStartKey=found[-1]["LastEvaluatedKey"], **request))
    return [plain(one) for one in found]


def plain(value: Any) -> Any:
    """JSON's own values, without what differs by the request: metadata, and the table's name."""
    if isinstance(value, dict):
        return {
            ("TABLE" if name in TABLES else name): plain(one)
            for name, one in sorted(value.items())
            if name not in ("ResponseMetadata", "IsTruncated")
        }
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if isinstance(value, (set, frozenset)):
        return sorted(map(str, value))
    if isinstance(value, (bytes, bytearray)):
        return bytes(value).hex()
    if hasattr(value, "value") and isinstance(value.value, bytes):
        return value.value.hex()
    if isinstance(value, (Decimal, int, float)) and not isinstance(value, bool):
        return float(value)
    return "TABLE" if value in TABLES else value


TABLES = ("through-dax", "directly")


def heard(step: Step) -> Any:
    """The result of a step, or its error."""
    try:
        result = step()
    except Exception as error:
        found = getattr(error, "response", {}).get("Error", {})
        return [found.get("Code", type(error).__name__), found.get("Message", str(error))]
    return plain(result)


def main() -> None:
    endpoint, dax_endpoint, way = sys.argv[1:]
    direct = boto3.client(
        "dynamodb",
        endpoint_url=endpoint,
        region_name=REGION,
        aws_access_key_id="AKIDEXAMPLE",
        aws_secret_access_key="x",
    )
    for table in TABLES:
        create(direct, table)
    if way == "resource":
        dax = AmazonDaxClient.resource(
            region_name=REGION, endpoint_url=dax_endpoint, aws_access_key_id="AKIDEXAMPLE", aws_secret_access_key="x"
        )
        straight = boto3.resource(
            "dynamodb",
            endpoint_url=endpoint,
            region_name=REGION,
            aws_access_key_id="AKIDEXAMPLE",
            aws_secret_access_key="x",
        )
        both = [resource_steps(dax.Table(TABLES[0])), resource_steps(straight.Table(TABLES[1]))]
    else:
        dax = connect(dax_endpoint, way)
        both = [steps(dax, TABLES[0]), steps(direct, TABLES[1])]
    through, directly = [[heard(step) for step in side] for side in both]
    json.dump({"through": through, "directly": directly}, sys.stdout)


main()
