"""For whom does a request count that is refused: the keys of sessions are known there too."""

from types import SimpleNamespace
from typing import Any

import pytest

from hashrange.errors import InvalidSignatureException
from hashrange.server.access import Access
from hashrange.server.credentials import Credential
from hashrange.sts.session import RoleSession, session_keys

OWN = Credential("AKIDSHOP", "secret", account="111122223333")
SESSION = session_keys(RoleSession("ASIA111122223333ABCD", OWN.account, OWN.access_key, 4e9, None), OWN.secret_key)


@pytest.mark.parametrize(
    ("access_key", "token", "counted"),
    [
        (OWN.access_key, None, [OWN.account]),
        (SESSION["AccessKeyId"], SESSION["SessionToken"], [OWN.account]),
        (SESSION["AccessKeyId"], None, []),
        (SESSION["AccessKeyId"], SESSION["SessionToken"][:-1], []),
        ("AKIDOTHER", SESSION["SessionToken"], []),
    ],
)
def test_refused_requests_count_for_the_account_of_a_known_key(
    access_key: str, token: str | None, counted: list[str]
) -> None:
    found: list[str] = []
    recording = SimpleNamespace(refused_unread=lambda account, _: found.append(account))
    service: Any = SimpleNamespace(
        recording=recording,
        scope=lambda account, region: SimpleNamespace(account=account, region=region),
        clock=SimpleNamespace(wall_time=lambda: 0.0, service_time=lambda: 0.0),
    )
    headers = {
        b"authorization": f"AWS4-HMAC-SHA256 Credential={access_key}/20261127/eu-west-1/dynamodb/aws4_request".encode(),
        b"x-amz-security-token": None if token is None else token.encode(),
    }
    request: Any = SimpleNamespace(header=headers.get)
    Access(service, {OWN.access_key: OWN}).count_refused(request, InvalidSignatureException(""))
    assert found == counted
