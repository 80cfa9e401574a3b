"""Confirms new orders: sends a mail and writes a confirmation.
An order that cannot be confirmed is reported by its sequence number.

May see an order again, so the mail service is told by the order's number which mails are the same,
and the confirmation is too.
"""

import json
import os
import urllib.request
from typing import Any

import boto3

DATABASE = boto3.client("dynamodb")


def handler(event: Any, context: Any) -> dict[str, Any]:
    """Confirm the orders up to the first that fails: they come in the order of their numbers."""
    for record in event["Records"]:
        try:
            confirm(record["dynamodb"]["NewImage"])
        except (OSError, KeyError) as error:
            print(f"not confirmed: {error!r}")
            return {"batchItemFailures": [{"itemIdentifier": record["dynamodb"]["SequenceNumber"]}]}
    return {"batchItemFailures": []}


def confirm(order: Any) -> None:
    """Send the mail, then write the confirmation. Raises KeyError for an order without a total,
    OSError from the mail service.
    """
    confirmation = {"order": order["order"], "customer": order["customer"], "total": order["total"]}
    send_mail({name: next(iter(value.values())) for name, value in confirmation.items()})
    DATABASE.put_item(TableName="confirmations", Item=confirmation)


def send_mail(mail: dict[str, str]) -> None:
    """Raises OSError if the service does not take the mail."""
    headers = {"Content-Type": "application/json", "Idempotency-Key": mail["order"]}
    request = urllib.request.Request(os.environ["MAIL_URL"], json.dumps(mail).encode(), headers)
    urllib.request.urlopen(request).close()
