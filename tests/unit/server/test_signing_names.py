"""Which service is a request signed for? It is found in linear time, whatever stands in the header."""

import time
import timeit
from collections.abc import Callable

import pytest

from hashrange.server.misdirected_clients import OtherServiceHint
from hashrange.server.protocols.unserved.services import signing_name_of
from hashrange.wire.http import HeaderLayout, HttpRequest

Look = Callable[[HttpRequest], object]
LOOKS: list[Look] = [signing_name_of, OtherServiceHint(())]


def request_with(authorization: bytes) -> HttpRequest:
    return HttpRequest(b"GET", b"/", HeaderLayout((b"authorization",)), [authorization, None], b"", keeps_alive=True)


@pytest.mark.parametrize(
    ("authorization", "name"),
    [
        (b"AWS4-HMAC-SHA256 Credential=a/20261127/us-east-1/sqs/aws4_request, SignedHeaders=host, Signature=x", "sqs"),
        (b"AWS4-HMAC-SHA256 SignedHeaders=host,Credential=a/20261127/us-east-1/sqs/aws4_request,Signature=x", "sqs"),
        (b"AWS4-ECDSA-P256-SHA256 Credential=a/20261127/s3/aws4_request, SignedHeaders=host, Signature=x", "s3"),
        (b"Credential=a/20261127/us-east-1/sqs/aws4_request", "sqs"),
        (b"AWS4-HMAC-SHA256 Credential=a/today/us-east-1/sqs/aws4_request", None),
        (b"AWS key:signature", "s3"),
        (b"Bearer token", None),
        (b"", None),
    ],
)
def test_names(authorization: bytes, name: str | None) -> None:
    assert signing_name_of(request_with(authorization)) == name


def cpu_seconds(look: Look, beginnings: int) -> float:
    """CPU time of looks at a header in which a credential begins this often;
    the load of other processes does not count.
    """
    request = request_with(b"AWS4-HMAC-SHA256 " + b"Credential=" * beginnings)
    return min(timeit.repeat(lambda: look(request), timer=time.process_time, number=20, repeat=5))


@pytest.mark.parametrize("look", LOOKS, ids=["name", "hint"])
def test_the_time_grows_with_the_length_and_not_with_its_square(look: Look) -> None:
    """Eight times as many beginnings take at most 8 times as long; with quadratic time it would be 64 times."""
    assert cpu_seconds(look, 1_400) < 24 * cpu_seconds(look, 175)
