"""Requests that Hashrange signs are signed as botocore signs them, and as Hashrange itself accepts them."""

import random
from typing import Any

import pytest
from botocore.auth import S3SigV4Auth, SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from hashrange.wire.canonical_request import check_signature, signing_key
from hashrange.wire.http import HttpRequest, layout_of
from hashrange.wire.outgoing_signature import OutgoingSigner, signed_headers
from hashrange.wire.sigv4 import amz_date, read_claim
from tests.support.signing import ACCESS_KEY, SECRET_KEY, sign

NOW = 1_795_262_400.0
DATE = "20261121T120000Z"
HOST = "127.0.0.1:9324"


def signer(service: str = "sqs") -> OutgoingSigner:
    return OutgoingSigner(ACCESS_KEY, SECRET_KEY, "eu-west-1", service)


def signed_by_botocore(service: str, method: str, url: str, headers: dict[str, str], body: bytes) -> dict[str, str]:
    """The headers that botocore's signer leaves on a request: its `add_auth`, at a date of our own."""
    request: Any = AWSRequest(method=method, url=f"http://{HOST}{url}", headers=headers, data=body)
    request.context |= {"timestamp": DATE, "signing": {}}
    kind = S3SigV4Auth if service == "s3" else SigV4Auth
    signer = kind(Credentials(ACCESS_KEY, SECRET_KEY), service, "eu-west-1")
    signer._modify_request_before_signing(request)
    to_sign = signer.string_to_sign(request, signer.canonical_request(request))
    signer._inject_signature_to_request(request, signer.signature(to_sign, request))
    return {name.lower(): value for name, value in request.headers.items()}


def signed_by_us(service: str, method: str, url: str, headers: dict[str, str], body: bytes) -> dict[str, str]:
    signed = signed_headers(signer(service), method, url, {"Host": HOST, **headers}, body, NOW)
    return {name.lower(): value for name, value in signed.items()}


URLS = ["/", "/?Action=Publish&A=b%20c", "/000000000000/failed-orders", "/bucket/aws/lambda/a-b/shardId-1/2026/11/21/x"]
S3_URLS = ["/bucket/a//b/../c", "/bucket/./a/", "/bucket/a%20b/%C3%A9"]
"""Paths that other services normalize."""


@pytest.mark.parametrize(
    ("service", "url"),
    [(service, url) for service in ("sqs", "sns", "s3") for url in URLS] + [("s3", url) for url in S3_URLS],
)
@pytest.mark.parametrize("body", [b"", b'{"a": 1}', "é".encode() * 1000])
def test_botocore_signs_alike(service: str, url: str, body: bytes) -> None:
    headers = {"Content-Type": "application/json", "X-Amz-Target": "AmazonSQS.SendMessage", "X-Odd": "a   b"}
    expected = signed_by_botocore(service, "PUT" if service == "s3" else "POST", url, headers, body)
    ours = signed_by_us(service, "PUT" if service == "s3" else "POST", url, headers, body)
    assert ours["authorization"] == expected["authorization"]
    assert ours == {"host": HOST, **expected}


def test_botocore_signs_alike_whatever_is_sent() -> None:
    draw = random.Random(7)
    for _ in range(300):
        service = draw.choice(["sqs", "sns", "s3"])
        method = draw.choice(["POST", "PUT", "GET"])
        path = "/" + "/".join(
            "".join(draw.choices("abcXYZ019-_.~", k=draw.randint(1, 9))) for _ in range(draw.randint(0, 5))
        )
        pairs = [
            f"{draw.choice('abcd')}{draw.randint(0, 9)}={draw.choice(['', 'x', 'x%2Fy', 'x%20y'])}"
            for _ in range(draw.randint(0, 4))
        ]
        url = path + ("?" + "&".join(pairs) if pairs else "")
        headers = {
            f"X-{draw.choice('AbCd')}{number}": "".join(draw.choices("ab ,:=", k=9)).strip()
            for number in range(draw.randint(0, 5))
        }
        body = draw.randbytes(draw.randint(0, 50))
        expected = signed_by_botocore(service, method, url, headers, body)
        assert signed_by_us(service, method, url, headers, body) == {"host": HOST, **expected}, (
            service,
            method,
            url,
            headers,
        )


def test_an_independent_signer_signs_alike() -> None:
    headers = {"Host": HOST, "Content-Type": "application/x-amz-json-1.0"}
    expected = sign(headers, b"{}", seconds=NOW, region="eu-west-1", service="sqs")
    assert signed_headers(signer(), "POST", "/", headers, b"{}", NOW) == expected


def test_hashrange_accepts_what_it_signs() -> None:
    headers = signed_headers(signer("dynamodb"), "POST", "/", {"Host": HOST}, b"{}", NOW)
    values: list[bytes | None] = [*(value.encode() for value in headers.values()), None]
    request = HttpRequest(b"POST", b"/", layout_of(tuple(name.encode() for name in headers)), values, b"{}", True)
    claim = read_claim(request, NOW, "dynamodb")
    check_signature(request, claim, signing_key(SECRET_KEY, claim.day, claim.region, claim.service))


def test_the_callers_headers_are_kept_in_order_and_not_changed() -> None:
    headers = {"Content-Type": "text/plain", "Host": HOST}
    signed = signed_headers(signer("s3"), "PUT", "/bucket/key", headers, b"", NOW)
    assert list(signed) == ["Content-Type", "Host", "X-Amz-Date", "X-Amz-Content-SHA256", "Authorization"]
    assert (signed["X-Amz-Date"], amz_date(NOW)) == (DATE, DATE)
    assert headers == {"Content-Type": "text/plain", "Host": HOST}


def test_a_request_without_host_cannot_be_signed() -> None:
    with pytest.raises(AssertionError):
        signed_headers(signer(), "POST", "/", {}, b"", NOW)
