"""Wrong signatures: each fault is reported by its own error, which reveals no secret."""

import time
from typing import Any

import pytest

from tests.support.raw_client import CONTENT_TYPE, RawClient, Reply
from tests.support.signing import amz_date, sign

CORAL = "com.amazon.coral.service#"


def ask(raw: RawClient, changes: dict[str, str | None], path: str = "/", **signing: Any) -> Reply:
    """Send a signed ListTables with these headers changed; None removes a header."""
    headers = {
        "Host": f"{raw.host}:{raw.port}",
        "Content-Type": CONTENT_TYPE,
        "X-Amz-Target": "DynamoDB_20120810.ListTables",
    }
    complete: dict[str, str | None] = {
        **sign(headers, b"{}", **{"seconds": time.time(), "region": raw.region, **signing}),
        **changes,
    }
    return raw.send("POST", path, {name: value for name, value in complete.items() if value is not None}, b"{}")


def authorization(raw: RawClient, **signing: Any) -> str:
    headers = {
        "Host": f"{raw.host}:{raw.port}",
        "Content-Type": CONTENT_TYPE,
        "X-Amz-Target": "DynamoDB_20120810.ListTables",
    }
    return sign(headers, b"{}", **{"seconds": time.time(), "region": raw.region, **signing})["Authorization"]


def test_a_signed_request_is_served(raw: RawClient) -> None:
    assert ask(raw, {}).status == 200


def test_commas_without_blanks_and_another_order_are_served(raw: RawClient) -> None:
    header = authorization(raw)
    assert ask(raw, {"Authorization": header.replace(", ", ",")}).status == 200
    algorithm, _, rest = header.partition(" ")
    swapped = ",".join(reversed(rest.split(", ")))
    assert ask(raw, {"Authorization": f"{algorithm} {swapped}"}).status == 200


def test_blanks_around_values_are_served(raw: RawClient) -> None:
    header = authorization(raw)
    for blanks in (" ", "\t", "  \t "):
        assert ask(raw, {"X-Amz-Target": f"{blanks}DynamoDB_20120810.ListTables{blanks}"}).status == 200
        assert ask(raw, {"Authorization": f"{blanks}{header}{blanks}"}).status == 200
        assert ask(raw, {"Content-Type": f"{blanks}{CONTENT_TYPE}{blanks}"}).status == 200


def test_nothing_given(raw: RawClient) -> None:
    for header in (None, "", "Bearer abc"):
        reply = ask(raw, {"Authorization": header})
        assert (reply.status, reply.json()) == (
            400,
            {
                "__type": CORAL + "MissingAuthenticationTokenException",
                "message": "Request is missing Authentication Token",
            },
        )


def test_both_forms_given(raw: RawClient) -> None:
    assert ask(raw, {}, "/?X-Amz-Algorithm").json() == {
        "__type": CORAL + "InvalidSignatureException",
        "message": "Found both 'X-Amz-Algorithm' as a query-string param and 'Authorization' as HTTP header.",
    }


def test_parts_missing_in_the_header(raw: RawClient) -> None:
    assert ask(raw, {"Authorization": "AWS4-HMAC-SHA256 Credential=x", "X-Amz-Date": None}).json() == {
        "__type": CORAL + "IncompleteSignatureException",
        "message": (
            "Authorization header requires 'Signature' parameter. Authorization header requires 'SignedHeaders' "
            "parameter. Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header. "
            "Authorization=AWS4-HMAC-SHA256 Credential=x"
        ),
    }


def test_parts_missing_in_the_query(raw: RawClient) -> None:
    assert ask(raw, {"Authorization": None}, "/?X-Amz-Algorithm=AWS4-HMAC-SHA256").json() == {
        "__type": CORAL + "IncompleteSignatureException",
        "message": (
            "AWS query-string parameters must include 'X-Amz-Credential'. "
            "AWS query-string parameters must include 'X-Amz-Signature'. "
            "AWS query-string parameters must include 'X-Amz-SignedHeaders'. "
            "AWS query-string parameters must include 'X-Amz-Date'. "
            "Re-examine the query-string parameters."
        ),
    }


@pytest.mark.parametrize(
    ("offset_seconds", "beginning"), [(-1000, "Signature expired: "), (1000, "Signature not yet current: ")]
)
def test_a_clock_that_is_wrong(raw: RawClient, offset_seconds: int, beginning: str) -> None:
    seconds = time.time() + offset_seconds
    reply = ask(raw, {}, seconds=seconds)
    assert reply.status == 400
    assert reply.json()["__type"] == CORAL + "InvalidSignatureException"
    assert reply.json()["message"].startswith(beginning + amz_date(seconds))


def test_a_date_in_another_format(raw: RawClient) -> None:
    assert ask(raw, {"X-Amz-Date": "Sat, 21 Nov 2026 12:00:00 GMT"}).json() == {
        "__type": CORAL + "IncompleteSignatureException",
        "message": (
            "Date must be in ISO-8601 'basic format'. Got 'Sat, 21 Nov 2026 12:00:00 GMT'. "
            "See http://en.wikipedia.org/wiki/ISO_8601"
        ),
    }


@pytest.mark.parametrize(
    ("old", "new", "kind", "message"),
    [
        ("host;", "", "InvalidSignatureException", "'Host' must be a 'SignedHeader' in the AWS Authorization."),
        (
            "SHA256",
            "SHA1",
            "IncompleteSignatureException",
            "Unsupported AWS 'algorithm': 'AWS4-HMAC-SHA1' (only AWS4-HMAC-SHA256 for now). ",
        ),
        (
            "/dynamodb/",
            "/s3/",
            "InvalidSignatureException",
            "Credential should be scoped to correct service: 'dynamodb'. ",
        ),
        (
            "aws4_request",
            "aws5",
            "InvalidSignatureException",
            "Credential should be scoped with a valid terminator: 'aws4_request', not 'aws5'.",
        ),
    ],
)
def test_faults_of_the_parts(raw: RawClient, old: str, new: str, kind: str, message: str) -> None:
    reply = ask(raw, {"Authorization": authorization(raw).replace(old, new)})
    assert reply.json() == {"__type": CORAL + kind, "message": message.rstrip() if "scoped to" in message else message}


def test_each_region_is_a_place_of_its_own(raw: RawClient) -> None:
    ours = raw("ListTables", {}).json()["TableNames"]
    other = ask(raw, {}, region="eu-central-1").json()["TableNames"]
    assert other == [] or other != ours
