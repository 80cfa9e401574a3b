"""Takes what is ordered from the stock. Stock and movement change together, and once, however often a record comes.

Lambda may deliver a batch again, as a whole or in halves, so that the transaction of each record
is named after the record.
"""

from typing import Any

import boto3

DATABASE = boto3.client("dynamodb")


def handler(event: Any, context: Any) -> None:
    """Book each line of an order. Raises TransactionCanceledException for a product that the shop does not have."""
    for record in event["Records"]:
        book(record["eventID"], record["dynamodb"]["NewImage"])


def book(event_id: str, line: Any) -> None:
    """Book a line of an order, unless this event has been booked."""
    stock = {
        "TableName": "products",
        "Key": {"product": line["product"]},
        "UpdateExpression": "SET stock = stock - :quantity",
        "ConditionExpression": "attribute_exists(product)",
        "ExpressionAttributeValues": {":quantity": line["quantity"]},
    }
    movement = {
        "product": line["product"],
        "line": {"S": f"{line['order']['S']}/{line['part']['S']}"},
        "quantity": line["quantity"],
    }
    DATABASE.transact_write_items(
        TransactItems=[{"Update": stock}, {"Put": {"TableName": "movements", "Item": movement}}],
        ClientRequestToken=event_id,
    )
