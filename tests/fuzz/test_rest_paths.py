"""Random paths, queries, headers and bodies for Lambda's API: each gets a reply with a known error or reaches its
operation, and never meets an internal error.
"""

import asyncio
import copy
import json
import os
import random
from typing import Any
from urllib.parse import quote

import pytest

from hashrange.aws_services.operation import Operation
from hashrange.errors import ApiError
from hashrange.functions.api.operation import RestWire
from hashrange.functions.api.registry import OPERATIONS as FUNCTION_OPERATIONS
from hashrange.server.protocols.rest_json.api_paths import API_PATHS
from hashrange.server.protocols.rest_json.members import RequestReader
from hashrange.triggers.api.registry import OPERATIONS as MAPPING_OPERATIONS
from hashrange.wire.http import HttpRequest, layout_of
from hashrange.wire.shape import Shape, structure_of
from tests.unit.server.harness import Parsed, reply
from tests.unit.server.lambda_front import OPERATIONS as SERVED
from tests.unit.server.lambda_front import LambdaFrontEnd

ROUNDS = int(os.environ.get("HASHRANGE_FUZZ_ROUNDS", "300"))
OPERATIONS = (*FUNCTION_OPERATIONS, *MAPPING_OPERATIONS)
KNOWN_STATUS = {200, 201, 202, 204, 400, 403, 404, 413}
PIECES = [
    "/", "//", "%", "%2F", "%00", "%ff", "%C3%A9", ":", "%3A", "?", "&", "=", "+", "..", ".", "%2e%2e", "$LATEST",
    "{FunctionName}", "#",
    "*", "\x7f", "a" * 300, "2015-03-31", "functions", "List=ALL", "tagKeys=a", "MaxItems=%2D1", "Qualifier",
]  # fmt: skip
TEXTS = [
    "",
    "a",
    "é",
    "\x00",
    "x" * 300,
    "arn:aws:lambda:us-east-1:000000000000:function:f",
    "true",
    "1",
    "null",
    "$LATEST",
]
VALUES: list[Any] = [
    None,
    True,
    False,
    0,
    -1,
    1,
    1.5,
    10**30,
    1e308,
    "",
    "a",
    "YQ==",
    "yes",
    [],
    [None],
    [[]],
    {},
    {"": None},
    {"a": {"b": []}},
]


def random_path(random_source: random.Random) -> str:
    """The path of an operation with random texts, and perhaps a few random changes."""
    names = random_source.choice((list(API_PATHS), [one.name for one in SERVED]))
    _, path = API_PATHS[random_source.choice(names)]
    while "{" in path:
        before, _, behind = path.partition("{")
        text = random_source.choice(TEXTS)
        path = before + quote(text, safe=random_source.choice(("", ":", "/:"))) + behind.partition("}")[2]
    if random_source.random() < 0.5:
        path += "?" + "&".join(random_source.choice(PIECES) for _ in range(random_source.randint(0, 4)))
    for _ in range(random_source.choice((0, 0, 1, 3))):
        at = random_source.randrange(1, len(path) + 1)
        path = path[:at] + random_source.choice(PIECES) + path[at + random_source.randint(0, 3) :]
    return path.replace("\x7f", "")


def random_value(random_source: random.Random, shape: Shape, levels: int = 0) -> Any:
    """A value that mostly has the type of a shape, and seldom keeps its constraints."""
    if random_source.random() < 0.05 or levels > 4:
        return copy.deepcopy(random_source.choice(VALUES))
    match shape.kind:
        case "Structure":
            members = [one for one in shape.members if random_source.random() < 0.15]
            return {one.name: random_value(random_source, one.shape, levels + 1) for one in members}
        case "List":
            assert shape.member is not None
            return [random_value(random_source, shape.member, levels + 1) for _ in range(random_source.randint(0, 3))]
        case "Map":
            assert shape.member is not None
            return {
                random_source.choice(TEXTS): random_value(random_source, shape.member, levels + 1) for _ in range(3)
            }
        case "String":
            return random_source.choice((*shape.bounds.enumeration, *TEXTS))
        case "Blob":
            return random_source.choice(("", "YQ==", "YQ=", "-", "A" * 200_000))
        case "Boolean":
            return random_source.choice((True, False, "true", "no"))
        case _:
            return random_source.choice((0, 1, -1, 60, 10_000, 2**31, 1.5, "1"))


def mutated(random_source: random.Random, body: bytes) -> bytes:
    """The body with a few bytes changed, or as it is."""
    for _ in range(random_source.choice((0, 0, 0, 1, 3))):
        at = random_source.randrange(len(body) + 1)
        piece = random_source.choice((b"", b'"', b"\\", b"{", b"]", b"\xff", b"\x00", b",", b":", b"1e999"))
        body = body[:at] + piece + body[at + random_source.randint(0, 2) :]
    return body


def check(answer: Parsed, told: object) -> None:
    """Fail for a reply that a client cannot understand."""
    assert answer.status in KNOWN_STATUS, told
    if answer.status >= 400 and answer.headers["content-type"] == "application/json":
        body = json.loads(answer.body)
        assert isinstance(body.get("message", body.get("Message")), str), told
        assert answer.headers["x-amzn-errortype"].endswith("Exception"), told


@pytest.mark.parametrize("seed", range(4))
def test_any_path_is_answered(seed: int) -> None:
    random_source = random.Random(seed)
    front = LambdaFrontEnd()
    front.works.outcome = None
    requests = []
    for _ in range(ROUNDS):
        method = random_source.choice(("GET", "GET", "POST", "PUT", "DELETE", "PATCH"))
        body = json.dumps({"FunctionName": random_source.choice(TEXTS)}).encode()
        data = front.signed(
            method, quote(random_path(random_source), safe="/?&=%+:$.,*{}"), mutated(random_source, body)
        )
        requests.append(data if random_source.random() < 0.9 else data.replace(b"aws4_request", b"x"))

    async def answer_all() -> None:
        for data in requests:
            check(reply(await front.until_answered(data)), data)

    asyncio.run(answer_all())
    assert len(front.works.calls) > ROUNDS // 30


@pytest.mark.parametrize("operation", OPERATIONS, ids=[one.name for one in OPERATIONS])
def test_any_body_becomes_a_request_or_a_known_error(operation: Operation[RestWire]) -> None:
    random_source = random.Random(operation.name)
    reader, shape = RequestReader(operation), structure_of(operation.request)
    texts = {part[1:-1]: "x" * 36 for part in operation.wire.path.split("/") if part.startswith("{")}
    headers = {name.encode(): member for name, member in operation.wire.headers.items()}
    are_read = 0
    for _ in range(ROUNDS):
        members = random_value(random_source, shape)
        if isinstance(members, dict) and random_source.random() < 0.7:
            members = members | {
                one.name: random_value(random_source, one.shape, 3) for one in shape.members if one.is_required
            }
        body = mutated(random_source, json.dumps(members).encode())
        query = "&".join(
            f"{name}={quote(random_source.choice(TEXTS))}"
            for name in operation.wire.query
            if random_source.random() < 0.7
        )
        values: list[bytes | None] = [random_source.choice((b"Event", b"None", b"", b"\xff", b"YQ==")) for _ in headers]
        request = HttpRequest(b"POST", f"/x?{query}".encode(), layout_of(tuple(headers)), [*values, None], body, True)
        try:
            assert isinstance(reader.read(request, texts), operation.request)
            are_read += 1
        except ApiError:
            continue
    assert are_read
