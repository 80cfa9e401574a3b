"""A Lambda handler that takes a payment once per event, however often it is called."""

# mypy: disable-error-code="import-not-found, untyped-decorator"

import json
from typing import Any
from uuid import uuid4

from aws_lambda_powertools.utilities.idempotency import DynamoDBPersistenceLayer, idempotent
from aws_lambda_powertools.utilities.idempotency.exceptions import IdempotencyAlreadyInProgressError

persistence_layer = DynamoDBPersistenceLayer(table_name="IdempotencyTable")
taken: list[int] = []


class Context:
    """What Lambda tells a handler of its invocation."""

    def get_remaining_time_in_millis(self) -> int:
        """Milliseconds until Lambda ends the invocation."""
        return 30_000


@idempotent(persistence_store=persistence_layer)
def lambda_handler(event: dict[str, Any], context: Context) -> dict[str, Any]:
    """Take a payment; the first refund is refused, and an event with "again" calls the handler while it runs."""
    if event.get("again"):
        return dict(lambda_handler(event, context))
    taken.append(event["amount"])
    if taken == [-5]:
        raise ValueError("the card was refused")
    return {"payment_id": str(uuid4()), "statusCode": 200}


def answer(event: dict[str, Any]) -> Any:
    """The handler's answer to an event, or the name of its error."""
    try:
        return lambda_handler(event, Context())
    except (ValueError, IdempotencyAlreadyInProgressError) as error:
        return type(error).__name__


def main() -> None:
    refused, retried = answer({"user": "ada", "amount": -5}), answer({"user": "ada", "amount": -5})
    first, second = answer({"user": "ada", "amount": 5}), answer({"user": "ada", "amount": 5})
    other = answer({"user": "ada", "amount": 6})
    report = {
        "refused": refused,
        "retried": retried["statusCode"],
        "payment_id": first["payment_id"],
        "is_repeated": first == second,
        "is_other": first != other,
        "meanwhile": answer({"user": "bob", "again": True}),
        "taken": taken,
    }
    print(json.dumps(report))


main()
