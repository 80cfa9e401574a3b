"""A materialised view: what did each customer order, in sum?
Keeps the table OrderTotals up to date from the stream of Orders.

Orders has the attributes `customer` (text) and `amount` (a number); its stream needs the view type NEW_AND_OLD_IMAGES.
"""

from decimal import Decimal

import boto3
from stream_reader import Action, Item, Record, StreamReader, ensure_table, main

TOTALS = "OrderTotals"


def actions_of(record: Record) -> list[Action]:
    """What the order was is taken off its customer's totals, what it is now is added."""
    totals: dict[str, tuple[int, Decimal]] = {}
    for image, sign in ((record["dynamodb"].get("OldImage"), -1), (record["dynamodb"].get("NewImage"), 1)):
        if image is not None:
            orders, amount = totals.get(customer_of(image), (0, Decimal(0)))
            totals[customer_of(image)] = orders + sign, amount + sign * Decimal(image["amount"]["N"])
    return [added(customer, *total) for customer, total in totals.items() if any(total)]


def customer_of(order: Item) -> str:
    """Whose order it is."""
    return str(order["customer"]["S"])


def added(customer: str, orders: int, amount: Decimal) -> Action:
    """Add to the totals of a customer."""
    update = {
        "TableName": TOTALS,
        "Key": {"customer": {"S": customer}},
        "UpdateExpression": "ADD orders :orders, amount :amount",
        "ExpressionAttributeValues": {":orders": {"N": str(orders)}, ":amount": {"N": str(amount)}},
    }
    return {"Update": update}


if __name__ == "__main__":
    client = boto3.client("dynamodb")
    ensure_table(client, TOTALS, {"customer": "HASH"})
    main(StreamReader("totals", "Orders", client), actions_of)
