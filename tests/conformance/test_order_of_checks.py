"""Which of two faults in one request is reported? Every neighbouring pair in the order of checks, per operation."""

import json
from typing import Any

import pytest

from tests.conformance import order_ladders
from tests.conformance.batch_ladders import BATCH_BODIES, BATCH_LADDERS
from tests.conformance.order_ladders import KEY, TABLE, Body, Fault, Ladder, text
from tests.support.raw_client import RawClient, Reply

BODIES = order_ladders.BODIES | BATCH_BODIES
LADDERS = order_ladders.LADDERS | BATCH_LADDERS
SINGLE = [
    pytest.param(name, ladder, fault, id=f"{name}-{number}-{fault.name}")
    for name, ladders in LADDERS.items()
    for number, ladder in enumerate(ladders)
    for fault in ladder.faults
]
PAIRS = [
    pytest.param(name, ladder, earlier, later, id=f"{name}-{number}-{earlier.name}-{later.name}")
    for name, ladders in LADDERS.items()
    for number, ladder in enumerate(ladders)
    for earlier, later in zip(ladder.faults, ladder.faults[1:], strict=False)
]
UNSIGNED = "MissingAuthenticationTokenException"


@pytest.fixture(scope="module")
def table(client: Any) -> str:
    """A table with one item."""
    client.create_table(
        TableName=TABLE,
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk")],
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
        BillingMode="PAY_PER_REQUEST",
    )
    client.get_waiter("table_exists").wait(TableName=TABLE)
    client.put_item(TableName=TABLE, Item=KEY | {"text": text("b")})
    return TABLE


def merged(*bodies: Body) -> Body:
    """The merged bodies: later ones win; maps are merged one level deep."""
    result: Body = {}
    for body in bodies:
        for member, value in body.items():
            old = result.get(member)
            result[member] = {**old, **value} if isinstance(old, dict) and isinstance(value, dict) else value
    return result


def heard(reply: Reply) -> tuple[str, str]:
    """Code and message of a refusal."""
    body = reply.json()
    assert reply.status == 400, body
    return body["__type"].partition("#")[2], body.get("message") or body.get("Message") or ""


def assert_heard(reply: Reply, fault: Fault) -> None:
    code, message = heard(reply)
    assert (code, fault.message in message) == (fault.code, True), (code, message)


@pytest.mark.parametrize(("name", "ladder", "fault"), SINGLE)
def test_each_fault_is_heard_alone(table: str, raw: RawClient, name: str, ladder: Ladder, fault: Fault) -> None:
    assert_heard(raw(name, merged(BODIES[name], ladder.needs, fault.body)), fault)


@pytest.mark.parametrize(("name", "ladder", "earlier", "later"), PAIRS)
def test_the_earlier_fault_is_heard(
    table: str, raw: RawClient, name: str, ladder: Ladder, earlier: Fault, later: Fault
) -> None:
    body = merged(BODIES[name], ladder.needs, later.body, earlier.body, earlier.with_next)
    assert_heard(raw(name, body), earlier)


# --- before the operation: steps 1 to 5 -----------------------------------------------------------


def test_the_content_type_comes_before_the_body(raw: RawClient) -> None:
    reply = raw("GetItem", b"{", {"Content-Type": "text/plain"}, is_signed=False)
    assert (reply.status, reply.body) == (404, b"<UnknownOperationException/>\n")


@pytest.mark.parametrize("body", [b"{", b"[", b"", b"[" * 100_000])
def test_malformed_json_comes_before_the_target(raw: RawClient, body: bytes) -> None:
    assert heard(raw("NoSuchOperation", body, is_signed=False)) == ("SerializationException", "")


def test_the_target_comes_before_the_signature(raw: RawClient) -> None:
    assert heard(raw("NoSuchOperation", {}, is_signed=False)) == ("UnknownOperationException", "")


@pytest.mark.parametrize("name", sorted(BODIES))
def test_malformed_json_comes_before_the_signature(raw: RawClient, name: str) -> None:
    assert heard(raw(name, b'{"TableName":', is_signed=False)) == ("SerializationException", "")


@pytest.mark.parametrize("name", sorted(BODIES))
def test_the_signature_comes_before_everything_in_the_body(raw: RawClient, name: str) -> None:
    bodies: list[Body] = [{}, {"TableName": 5, "ResourceArn": 5, "Limit": "x"}]
    bodies += [merged(BODIES[name], fault.body) for ladder in LADDERS[name] for fault in ladder.faults[:1]]
    for body in bodies:
        code, _ = heard(raw(name, json.dumps(body).encode(), is_signed=False))
        assert code == UNSIGNED
