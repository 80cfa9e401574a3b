"""An audit log: who was what, and when? Keeps every change of the table Orders,
with old and new values, in OrdersAudit.

Its items have the order's key as text, and the change's sequence number: a Query of one key tells the order's whole
life, in order. The stream needs the view type NEW_AND_OLD_IMAGES.
"""

import json

import boto3
from stream_reader import Action, Record, StreamReader, ensure_table, main

AUDIT = "OrdersAudit"


def actions_of(record: Record) -> list[Action]:
    """One entry for each change."""
    change = record["dynamodb"]
    entry = {
        "item": {"S": json.dumps(change["Keys"], sort_keys=True)},
        "sequence": {"S": change["SequenceNumber"].rjust(40, "0")},  # the order of texts is that of the numbers
        "event": {"S": record["eventName"]},
        "at": {"S": change["ApproximateCreationDateTime"].isoformat()},
        "by": {"S": "time to live" if "userIdentity" in record else "client"},
    }
    entry |= {
        name: {"M": change[image]} for name, image in (("old", "OldImage"), ("new", "NewImage")) if image in change
    }
    return [{"Put": {"TableName": AUDIT, "Item": entry}}]


if __name__ == "__main__":
    client = boto3.client("dynamodb")
    ensure_table(client, AUDIT, {"item": "HASH", "sequence": "RANGE"})
    main(StreamReader("audit", "Orders", client), actions_of)
