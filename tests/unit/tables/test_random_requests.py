"""Random requests from the declared shapes: each gets a reply or an API error, and a refused one changes nothing."""

import json
import random
from typing import Any

import pytest

from hashrange.errors import ApiError, Malformed
from hashrange.wire.shape import Shape, structure_of
from tests.support.explaining import explain
from tests.unit.tables.control_plane import OPERATIONS, ControlPlane, global_index

TEXTS = ("id", "at", "by", "one", "two", "index", "arn:aws:dynamodb:us-east-1:000000000000:table/one", "arn:x", "a b")
NUMBERS = (-1, 0, 1, 2, 5, 12_000, 15_000, 10**12, 10**13)
REQUESTS = 1500


def make(shape: Shape, chance: random.Random, share: float) -> Any:
    """A random value of the shape, mostly valid, in which each optional member is present with probability `share`."""
    match shape.kind:
        case "String":
            return chance.choice(shape.bounds.enumeration or TEXTS)
        case "Boolean":
            return chance.random() < 0.5
        case "Integer" | "Long" | "Double":
            return chance.choice(NUMBERS)
        case "List":
            assert shape.member is not None
            return [make(shape.member, chance, share) for _ in range(chance.choice((0, 1, 1, 1, 2, 2, 3)))]
        case _:
            return {
                member.name: make(member.shape, chance, share)
                for member in shape.members
                if chance.random() < (0.97 if member.is_required else share)
            }


def make_request(name: str, chance: random.Random) -> dict[str, Any]:
    """A random request; CreateTable's keys and definitions mostly match, and UpdateTable's do not contradict each
    other."""
    share = chance.choice((0.05, 0.1, 0.3))
    request: dict[str, Any] = make(structure_of(OPERATIONS[name].request), chance, share)
    if name == "CreateTable" and chance.random() < 0.8:
        names = chance.sample(("id", "at", "by"), chance.randint(1, 3))
        request["AttributeDefinitions"] = [
            {"AttributeName": one, "AttributeType": chance.choice("SNB")} for one in names
        ]
        request["KeySchema"] = [
            {"AttributeName": one, "KeyType": kind} for one, kind in zip(names, ("HASH", "RANGE"), strict=False)
        ]
        request["BillingMode"] = "PAY_PER_REQUEST"
        request.pop("ProvisionedThroughput", None)
    if name == "UpdateTable" and chance.random() < 0.8:  # most changes come alone
        changes = sorted(request.keys() - {"TableName", "AttributeDefinitions"})
        for member in chance.sample(changes, max(0, len(changes) - 1)):
            del request[member]
    if name == "UpdateTable" and chance.random() < 0.8:
        request["AttributeDefinitions"] = [{"AttributeName": one, "AttributeType": "S"} for one in ("id", "at", "by")]
    if name == "TagResource" and chance.random() < 0.8:
        request["Tags"] = [{"Key": one, "Value": one} for one in chance.sample(TEXTS[:3], chance.randint(1, 2))]
    if "TableName" in request and chance.random() < 0.7:
        request["TableName"] = chance.choice(("one", "two", "other"))
    if "ResourceArn" in request and chance.random() < 0.7:
        request["ResourceArn"] = "arn:aws:dynamodb:us-east-1:000000000000:table/one"
    return request


@pytest.mark.parametrize("delay_seconds", [0.0, 3.0])
def test_an_answer_or_an_api_error(delay_seconds: float) -> None:
    chance = random.Random(7)
    plane = ControlPlane(delay_seconds)
    answered = dict.fromkeys(OPERATIONS, 0)
    for _ in range(REQUESTS):
        plane.clock.advance(chance.choice((0, 1, 4)))
        name = chance.choice(list(OPERATIONS))
        request = make_request(name, chance)
        if "one" not in plane.store.catalog.stored:
            plane.create("one", GlobalSecondaryIndexes=[global_index("index")])
        before = plane.store.catalog.schemas()
        now_seconds = plane.clock.service_time()
        try:
            sound: Any = explain(OPERATIONS[name].request, name, json.dumps(request).encode())
            plane.run(name, sound)
        except Malformed:
            pytest.fail(f"{name} refuses what the slow path accepts: {request}")
        except ApiError:
            live = {
                table_name: table
                for table_name, table in before.items()
                if table.deleted_at_seconds is None or table.deleted_at_seconds > now_seconds
            }
            assert live.items() <= plane.store.catalog.schemas().items()
        else:
            answered[name] += 1
            if "one" in plane.store.catalog.stored:
                plane.call("ListTables")
    assert min(answered.values()) > 5, answered
