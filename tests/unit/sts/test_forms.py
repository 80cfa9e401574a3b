"""Requests of STS as they are on the wire: forms in a body or in a query,
with and without signature, well-formed or not.
"""

import random
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode
from xml.etree import ElementTree as ET

import pytest

from hashrange.server.credentials import Credential
from hashrange.sts.session import AssumedRole, RoleSession, read_session_token, session_keys
from tests.support.signing import ACCESS_KEY, SECRET_KEY, sign
from tests.unit.server.harness import as_bytes, reply
from tests.unit.sts.looped_front import LoopedFront

NAMESPACE = "https://sts.amazonaws.com/doc/2011-06-15/"
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


@pytest.fixture
def front() -> LoopedFront:
    return LoopedFront()


def send(
    front: LoopedFront, body: bytes, *, is_signed: bool = True, line: str = "POST / HTTP/1.1", **headers: str
) -> Any:
    own = {"Host": "localhost:8000", **FORM, "Content-Length": str(len(body)), **headers}
    method, _, url = line.partition(" ")
    path, _, query = url.partition(" ")[0].partition("?")
    if is_signed:
        own = sign(own, body, seconds=front.clock.wall_time(), service="sts", method=method, path=path, query=query)
    return reply(front.ask(as_bytes(own, body, line)))


def code(answer: Any) -> tuple[int, str | None]:
    error = ET.fromstring(answer.body)
    return answer.status, error.findtext(f".//{{{NAMESPACE}}}Code")


IDENTITY = b"Action=GetCallerIdentity&Version=2011-06-15"


def test_the_reply_of_the_service(front: LoopedFront) -> None:
    answer = send(front, IDENTITY)
    request_id = answer.headers["x-amzn-requestid"]
    assert (answer.status, answer.headers["content-type"]) == (200, "text/xml")
    assert answer.body.decode() == (
        f'<GetCallerIdentityResponse xmlns="{NAMESPACE}"><GetCallerIdentityResult>'
        "<Arn>arn:aws:iam::000000000000:root</Arn><UserId>000000000000</UserId><Account>000000000000</Account>"
        f"</GetCallerIdentityResult><ResponseMetadata><RequestId>{request_id}</RequestId></ResponseMetadata>"
        "</GetCallerIdentityResponse>"
    )


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_the_form_may_stand_in_the_query(front: LoopedFront, method: str) -> None:
    assert send(front, b"", line=f"{method} /?{IDENTITY.decode()} HTTP/1.1").status == 200


def test_a_form_without_a_version_is_that_of_the_service_with_such_an_operation(front: LoopedFront) -> None:
    assert b"<GetCallerIdentityResult>" in send(front, b"Action=GetCallerIdentity").body


def test_requests_without_a_signature_are_refused(front: LoopedFront) -> None:
    for answer in (
        send(front, IDENTITY, is_signed=False),
        send(front, b"", is_signed=False, line=f"GET /?{IDENTITY.decode()} HTTP/1.1"),
    ):
        assert code(answer) == (403, "MissingAuthenticationToken")
        assert b"<Message>Request is missing Authentication Token</Message>" in answer.body


def test_signatures_for_other_services_are_refused() -> None:
    for front in (LoopedFront(), LoopedFront({ACCESS_KEY: Credential(ACCESS_KEY, SECRET_KEY)})):
        own = {"Host": "localhost:8000", **FORM, "Content-Length": str(len(IDENTITY))}
        signed = sign(own, IDENTITY, seconds=front.clock.wall_time(), service="dynamodb")
        answer = reply(front.ask(as_bytes(signed, IDENTITY)))
        assert code(answer) == (403, "SignatureDoesNotMatch")
        assert b"Credential should be scoped to correct service: &#39;sts&#39;" in answer.body.replace(b"'", b"&#39;")
        assert code(send(front, IDENTITY, Authorization="AWS4-HMAC-SHA256 x")) != (500, "InternalFailure")


def test_an_operation_that_does_not_exist(front: LoopedFront) -> None:
    answer = send(front, b"Action=AssumeEverything%3C%26&Version=2011-06-15")
    assert code(answer) == (400, "InvalidAction")
    assert ET.fromstring(answer.body).findtext(f".//{{{NAMESPACE}}}Message") == (
        "Could not find operation AssumeEverything<& for version 2011-06-15"
    )


@pytest.mark.parametrize(
    ("body", "refused", "message"),
    [
        (
            b"Action=GetCallerIdentity&Version=2010-01-01",
            "InvalidAction",
            "Could not find operation GetCallerIdentity for version 2010-01-01",
        ),
        (b"Version=2011-06-15", "MissingAction", "The request is missing an action or a required parameter."),
        (b"", "MissingAction", "The request is missing an action or a required parameter."),
        (b"Action=GetCallerIdentity&x=%ff", "MalformedQueryString", "The query string contains a syntax error."),
        (
            b"Action=GetCallerIdentity&" + b"a=1&" * 100_000,
            "MalformedQueryString",
            "The query string contains a syntax error.",
        ),
        (b"\xff\xfe", "MalformedQueryString", "The query string contains a syntax error."),
        (b"Action=&Version=", "InvalidAction", "Could not find operation  for version "),
    ],
    ids=["version", "action", "empty", "text", "fields", "bytes", "no names"],
)
def test_a_form_that_names_no_operation(front: LoopedFront, body: bytes, refused: str, message: str) -> None:
    answer = send(front, body)
    assert code(answer) == (400, refused)
    assert ET.fromstring(answer.body).findtext(f".//{{{NAMESPACE}}}Message") == message


def test_a_form_whose_coding_is_broken_is_refused(front: LoopedFront) -> None:
    coding: dict[str, Any] = {"Content-Encoding": "gzip"}
    answer = send(front, IDENTITY, **coding)
    assert code(answer) == (400, "MalformedQueryString")


@pytest.mark.parametrize(
    "members",
    [
        {"RoleArn.member.1": "x"},
        {"Tags": "x"},
        {"Tags.member.x.Key": "x"},
        {"Tags.member.1": "x"},
        {"PolicyArns.member.1.arn.x": "x"},
        {"a." * 50: "x"},
        {"DurationSeconds": "99999999999999999999999"},
        {"RoleSessionName": "\0\ud7ff\U0010ffff]]>"},
        {"Policy": '{"a":' * 9_000},
        {"Tags.member.99999999999.Key": "x"},
    ],
)
def test_malformed_members_are_refused(front: LoopedFront, members: dict[str, str]) -> None:
    form = {"Action": "AssumeRole", "Version": "2011-06-15", "RoleArn": "arn:aws:iam::111122223333:role/deploy"}
    answer = send(front, urlencode({**form, "RoleSessionName": "anna", **members}).encode())
    status, found = code(answer)
    assert (status, found) in {(400, "ValidationError"), (400, "PackedPolicyTooLarge")}, answer


def test_random_requests_are_answered(front: LoopedFront) -> None:
    """Seeded: parts of good requests, cut and mixed with bytes."""
    draw = random.Random(54)
    parts = [
        b"Action=AssumeRole",
        b"Version=2011-06-15",
        b"RoleArn=arn:aws:iam::111122223333:role/x",
        b"RoleSessionName=%ff",
        b"Tags.member.1.Key=%F0%9F",
        b"DurationSeconds=-1",
        b"&",
        b"=",
        b"%",
        b"\0",
        b"PolicyArns.member.2.arn=",
        b"Policy=%7B%7D",
        b"Action=GetSessionToken",
        b"WebIdentityToken=a.e30.c",
        b"Action=AssumeRoleWithWebIdentity",
    ]
    for _ in range(300):
        body = b"&".join(draw.sample(parts, draw.randrange(1, 8)))
        body = body[: draw.randrange(len(body) + 1)] + draw.randbytes(draw.randrange(3))
        answer = send(front, body)
        assert answer.status in {200, 400, 403, 404}, body


# --- tokens --------------------------------------------------------------------------------------------

SESSION = RoleSession("ASIA111122223333ABCD", "111122223333", "", 1.8e9, AssumedRole("aws", "x", "AROAX", "anna", None))


def test_a_token_says_what_its_session_is() -> None:
    for size in (0, 1, 300, 301, 302, 303, 4_096):
        token = session_keys(SESSION, "secret", size)["SessionToken"]
        assert len(token) >= size
        found = read_session_token(token)
        assert found is not None
        assert found.session == SESSION


def test_random_tokens_are_read_without_failing() -> None:
    draw = random.Random(55)
    token = session_keys(SESSION, "secret")["SessionToken"]
    letters = token + "=+/-_ é\0"
    for _ in range(2_000):
        place = draw.randrange(len(token))
        changed = (
            token[:place] + "".join(draw.choices(letters, k=draw.randrange(6))) + token[place + draw.randrange(9) :]
        )
        found = read_session_token(changed)
        assert found is None or isinstance(found.session, RoleSession)


def test_time_of_a_session(front: LoopedFront) -> None:
    body = b"Action=GetSessionToken&Version=2011-06-15&DurationSeconds=900"
    expires = ET.fromstring(send(front, body).body).findtext(f".//{{{NAMESPACE}}}Expiration")
    assert expires == f"{datetime.fromtimestamp(front.clock.service_time() + 900, UTC):%Y-%m-%dT%H:%M:%S}.000Z"
