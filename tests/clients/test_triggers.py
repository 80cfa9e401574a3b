"""A shop whose orders, stock, search index and sessions are followed by stream handlers,
in Python and TypeScript, deployed in each way.
"""

import json
import os
import sys
from collections.abc import Callable, Iterable
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest

from tests.clients.serving import ServerProcess
from tests.clients.triggers.application import (
    REFUSED_AT_FIRST,
    SOLD,
    STOCK,
    WITHOUT_PRODUCT,
    WITHOUT_TOTAL,
    Item,
    Shop,
    words_of,
)
from tests.clients.triggers.deployment import (
    PYTHON,
    TYPESCRIPT,
    Code,
    Plan,
    build_typescript,
    deploy_with_boto3,
    deploy_with_typescript,
    destinations_of,
    make_plan,
    triggers_text,
)
from tests.clients.triggers.mail_service import mail_service

BEFORE, AFTER = range(1, 41), range(41, 81)
"""Numbers of the orders that are placed before handlers are deployed over the API, and after."""
PYTHON_CODE = Code(PYTHON, f"python3.{sys.version_info.minor}")
COMPILED = Code(TYPESCRIPT / "dist", "nodejs20.x")
BUNDLES = Code(TYPESCRIPT / "dist" / "bundles", "nodejs20.x")
"""Two of the handlers are CommonJS, two are ES modules."""

pytestmark = pytest.mark.packaging


@pytest.fixture(autouse=True)
def own_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let servers find the Python that has boto3, which Lambda's runtimes have too."""
    monkeypatch.setenv("PATH", os.pathsep.join((os.path.dirname(sys.executable), os.environ["PATH"])))


@pytest.mark.parametrize("code", [PYTHON_CODE, COMPILED], ids=["python", "typescript"])
def test_a_shop_with_handlers_in_a_folder(code: Code, tmp_path: Path) -> None:
    if code is COMPILED:
        build_typescript()
    run_shop(tmp_path, code, None)


def test_a_shop_with_zips_of_python(tmp_path: Path) -> None:
    run_shop(tmp_path, PYTHON_CODE, deploy_with_boto3)


def test_a_shop_with_zips_of_typescript(tmp_path: Path) -> None:
    build_typescript()
    run_shop(tmp_path, BUNDLES, deploy_with_typescript)


def run_shop(folder: Path, code: Code, deploy: Callable[[str, Plan], None] | None) -> None:
    """Run the shop with a server whose file of triggers has the handlers, or with handlers that
    `deploy` brings to the server.
    """
    failed, file = folder / "failed.jsonl", folder / "triggers.toml"
    with mail_service(REFUSED_AT_FIRST) as mail:
        triggers = triggers_text(code, mail.url, failed)
        file.write_text(triggers if deploy is None else destinations_of(triggers))
        server = ServerProcess(None, "--functions", "--triggers", str(file), log=folder / "log")
        try:
            shop = Shop(server.endpoint)
            shop.open()
            shop.sell(BEFORE)
            if deploy is not None:
                deploy(server.endpoint, make_plan(triggers, code, folder, shop.stream_arns))
            shop.sell(AFTER)
            shop.revise_catalog()
            shop.let_sessions_end()
            shop.wait_for_handlers()
            check_orders(shop, mail.mails)
            assert mail.refused == set(REFUSED_AT_FIRST)
            check_catalog(shop)
            check_sessions(shop)
            invoked = check_failures(shop, failed)
            # The first function has a retry; the second one has none, but saw its line with others,
            # which then came without it.
            assert min(invoked) > 1 or deploy is None
            shop.close()
            assert "not confirmed: " in (folder / "log").read_text()  # which the handler prints
        finally:
            server.stop()


def check_orders(shop: Shop, mails: dict[str, Any]) -> None:
    """Each order has one confirmation and one mail, but for the one without a total."""
    assert by_key(shop.scan("confirmations"), "order") == shop.confirmed
    assert mails == {
        order: {name: next(iter(value.values())) for name, value in confirmation.items()}
        for order, confirmation in shop.confirmed.items()
    }


def check_catalog(shop: Shop) -> None:
    """What was ordered has been taken from the stock once, and the index is what building it again would give."""
    movements = {(one["product"]["S"], one["line"]["S"]): int(one["quantity"]["N"]) for one in shop.scan("movements")}
    assert movements == shop.movements
    products = by_key(shop.scan("products"), "product")
    assert {product: int(products[product]["stock"]["N"]) for product in SOLD} == {
        product: STOCK - sum(quantity for (moved, _), quantity in movements.items() if moved == product)
        for product in SOLD
    }
    assert {(one["word"]["S"], one["product"]["S"]) for one in shop.scan("search")} == {
        (word, product) for product, item in products.items() for word in words_of(item)
    }


def check_sessions(shop: Shop) -> None:
    """Sessions past their time are in the archive; those that users have deleted are nowhere."""
    assert by_key(shop.scan("archive"), "session") == shop.expired
    assert by_key(shop.scan("sessions"), "session") == shop.kept


def check_failures(shop: Shop, file: Path) -> list[int]:
    """The file has exactly one message for each record that cannot be handled.

    Returns how often functions were invoked with them: with the order without a total, with the line without a product.
    """
    messages = [json.loads(line) for line in file.read_text().splitlines()]
    messages.sort(key=lambda message: message["requestContext"]["functionArn"])
    for message in messages:
        assert message.pop("timestamp")
        assert message["requestContext"].pop("requestId")
    counts = [message["requestContext"].pop("approximateInvokeCount") for message in messages]
    assert messages == [
        failure(shop, "confirm-orders", f"order-{WITHOUT_TOTAL:04}", "order", {}),
        failure(shop, "update-inventory", f"order-{WITHOUT_PRODUCT:04}", "line-1", {"functionError": "Unhandled"}),
    ]
    return counts


def failure(shop: Shop, function: str, order: str, part: str, error: Item) -> Item:
    """The message about an item of `orders`, without what differs from run to run."""
    shard_id, record = shop.record_of(order, part)
    arrival = record["ApproximateCreationDateTime"].astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        "requestContext": {
            "functionArn": f"arn:aws:lambda:us-east-1:000000000000:function:{function}",
            "condition": "RetryAttemptsExhausted",
        },
        "responseContext": {"statusCode": 200, "executedVersion": "$LATEST", **error},
        "version": "1.0",
        "DDBStreamBatchInfo": {
            "shardId": shard_id,
            "startSequenceNumber": record["SequenceNumber"],
            "endSequenceNumber": record["SequenceNumber"],
            "approximateArrivalOfFirstRecord": arrival,
            "approximateArrivalOfLastRecord": arrival,
            "batchSize": 1,
            "streamArn": shop.stream_arns["orders"],
        },
    }


def by_key(items: Iterable[Item], key: str) -> dict[str, Item]:
    """Items by the value of their key."""
    return {item[key]["S"]: item for item in items}
