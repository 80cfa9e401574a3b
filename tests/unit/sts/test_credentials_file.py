"""Sessions if there is a credentials file: their keys are verified, reach the caller's account alone, and end."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode
from xml.etree import ElementTree as ET

import pytest

from hashrange.server.credentials import Credential
from hashrange.settings import Settings
from hashrange.wire.sigv4 import amz_date
from tests.support.signing import sign
from tests.unit.server.harness import as_bytes, reply
from tests.unit.sts.looped_front import LoopedFront

NAMESPACE = "{https://sts.amazonaws.com/doc/2011-06-15/}"
SHOP = Credential("AKIDSHOP", "shop's secret", account="111122223333", regions=("eu-west-1", "us-east-1"))
OTHER = Credential("AKIDOTHER", "other's secret", account="444455556666")
BRIEF = Credential(
    "AKIDBRIEF", "brief secret", "its token", expires=datetime(2027, 1, 15, 8, 30, tzinfo=UTC), account="111122223333"
)
CREDENTIALS = {one.access_key: one for one in (SHOP, OTHER, BRIEF)}
ROLE = "arn:aws:iam::111122223333:role/deploy"
ASSUME = {"Action": "AssumeRole", "RoleArn": ROLE, "RoleSessionName": "anna"}
Keys = tuple[str, str, str | None]
SHOP_KEYS: Keys = (SHOP.access_key, SHOP.secret_key, None)
INVALID = (403, "InvalidClientTokenId", "The security token included in the request is invalid.")
EXPIRED = "The security token included in the request is expired"


@pytest.fixture
def front() -> LoopedFront:
    return LoopedFront(CREDENTIALS)


def ask_sts(
    front: LoopedFront, members: dict[str, str], keys: Keys = SHOP_KEYS, region: str = "eu-west-1"
) -> ET.Element:
    """The reply of STS, as XML."""
    return ET.fromstring(send_sts(front, members, keys, region).body)


def send_sts(front: LoopedFront, members: dict[str, str], keys: Keys = SHOP_KEYS, region: str = "eu-west-1") -> Any:
    access_key, secret, token = keys
    body = urlencode({"Version": "2011-06-15", **members}).encode()
    headers = {
        "Host": "localhost:8000",
        "Content-Type": "application/x-www-form-urlencoded; charset=utf-8",
        "Content-Length": str(len(body)),
        **({} if token is None else {"X-Amz-Security-Token": token}),
    }
    signed = sign(
        headers,
        body,
        seconds=front.clock.wall_time(),
        access_key=access_key,
        secret=secret,
        region=region,
        service="sts",
    )
    answer = reply(front.ask(as_bytes(signed, body)))
    assert answer.headers["content-type"] == "text/xml"
    return answer


def refused(front: LoopedFront, members: dict[str, str], keys: Keys = SHOP_KEYS, **place: str) -> tuple[int, str, str]:
    answer = send_sts(front, members, keys, **place)
    error = ET.fromstring(answer.body).find(f"{NAMESPACE}Error")
    assert error is not None
    return answer.status, str(error.findtext(f"{NAMESPACE}Code")), str(error.findtext(f"{NAMESPACE}Message"))


def keys_in(answer: ET.Element) -> Keys:
    found = [answer.findtext(f".//{NAMESPACE}{name}") for name in ("AccessKeyId", "SecretAccessKey", "SessionToken")]
    access_key, secret, token = found
    assert access_key is not None
    assert secret is not None
    return access_key, secret, token


def assumed(front: LoopedFront, keys: Keys = SHOP_KEYS, **members: str) -> Keys:
    return keys_in(ask_sts(front, ASSUME | members, keys))


def place(front: LoopedFront, keys: Keys, region: str = "eu-west-1") -> Any:
    """Account and Region of a request to DynamoDB, or the code and message of its refusal."""
    access_key, secret, token = keys
    headers = {} if token is None else {"X-Amz-Security-Token": token}
    answer = reply(front.ask(front.request(headers=headers, access_key=access_key, secret=secret, region=region)))
    body = json.loads(answer.body)
    if answer.status == 200:
        return body["account"], body["region"]
    return body["__type"].partition("#")[2], body["message"].partition("\n")[0]


def arn(front: LoopedFront, keys: Keys) -> str | None:
    return ask_sts(front, {"Action": "GetCallerIdentity"}, keys).findtext(f".//{NAMESPACE}Arn")


def test_the_keys_of_a_session_are_those_of_its_account_and_regions(front: LoopedFront) -> None:
    keys = assumed(front)
    for _ in range(2):
        assert place(front, keys) == ("111122223333", "eu-west-1")
        assert place(front, keys, "us-east-1") == ("111122223333", "us-east-1")
        assert place(front, keys, "eu-north-1")[0] == "InvalidSignatureException"
    assert arn(front, keys) == "arn:aws:sts::111122223333:assumed-role/deploy/anna"
    assert arn(front, SHOP_KEYS) == "arn:aws:iam::111122223333:root"
    chained = assumed(front, keys, RoleSessionName="next")
    assert place(front, chained) == ("111122223333", "eu-west-1")
    assert arn(front, chained) == "arn:aws:sts::111122223333:assumed-role/deploy/next"


def test_with_a_shared_database_roles_of_the_own_account_are_assumed() -> None:
    front = LoopedFront(CREDENTIALS, settings=Settings(shared_db=True))
    for keys in (assumed(front), keys_in(ask_sts(front, {"Action": "GetSessionToken"}))):
        assert place(front, keys) == ("000000000000", "us-east-1")
    assert arn(front, assumed(front)) == "arn:aws:sts::000000000000:assumed-role/deploy/anna"
    other = (OTHER.access_key, OTHER.secret_key, None)
    assert refused(front, ASSUME, other)[1] == "AccessDenied"


def test_a_restart_forgets_nothing(front: LoopedFront) -> None:
    keys = assumed(front)
    assert place(LoopedFront(CREDENTIALS), keys) == ("111122223333", "eu-west-1")


@pytest.mark.parametrize(
    "later",
    [
        {},
        {SHOP.access_key: Credential(SHOP.access_key, "another secret", account=SHOP.account)},
        {SHOP.access_key: Credential(SHOP.access_key, SHOP.secret_key, account="999900001111")},
    ],
)
def test_a_session_ends_with_the_key_that_it_began_with(front: LoopedFront, later: dict[str, Credential]) -> None:
    keys = assumed(front)
    code, message = place(LoopedFront({OTHER.access_key: OTHER, **later}), keys)
    assert (code, message) == ("UnrecognizedClientException", INVALID[2])


def test_roles_of_other_accounts_are_not_assumed(front: LoopedFront) -> None:
    other = (OTHER.access_key, OTHER.secret_key, None)
    assert refused(front, ASSUME, other) == (
        403,
        "AccessDenied",
        f"User: arn:aws:iam::444455556666:root is not authorized to perform: sts:AssumeRole on resource: {ROLE}",
    )


@pytest.mark.parametrize("when", ["at once", "after use"])
def test_a_session_ends_by_service_time(front: LoopedFront, when: str) -> None:
    keys = assumed(front, DurationSeconds="900")
    front.clock.advance(899 if when == "after use" else 0)
    if when == "after use":
        assert place(front, keys) == ("111122223333", "eu-west-1")
        assert place(front, keys) == ("111122223333", "eu-west-1")
    front.clock.advance(901)
    assert place(front, keys) == ("ExpiredTokenException", EXPIRED)
    assert refused(front, {"Action": "GetCallerIdentity"}, keys) == (403, "ExpiredToken", EXPIRED)
    assert place(front, SHOP_KEYS) == ("111122223333", "eu-west-1")


def test_a_session_ends_when_the_key_expires_that_it_began_with(front: LoopedFront) -> None:
    own = (BRIEF.access_key, BRIEF.secret_key, BRIEF.session_token)
    keys = assumed(front, own)
    assert place(front, keys) == ("111122223333", "eu-west-1")
    front.clock.advance_all(BRIEF.expires.timestamp() - front.clock.wall_time())  # type: ignore[union-attr]
    assert place(front, keys) == ("ExpiredTokenException", EXPIRED)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda keys: (keys[0], keys[1], None), id="no token"),
        pytest.param(lambda keys: (keys[0], keys[1], keys[2][:-1]), id="shorter"),
        pytest.param(
            lambda keys: (keys[0], keys[1], "A" + keys[2][1:] if keys[2][0] != "A" else "B" + keys[2][1:]),
            id="signature",
        ),
        pytest.param(lambda keys: (keys[0], keys[1], "A" * 9_000), id="long"),
        pytest.param(lambda keys: (keys[0][:-1] + ("A" if keys[0][-1] != "A" else "B"), *keys[1:]), id="another key"),
    ],
)
def test_changed_tokens_are_unknown(front: LoopedFront, change: Callable[[Any], Keys]) -> None:
    keys = change(assumed(front))
    assert place(front, keys) == ("UnrecognizedClientException", INVALID[2])
    assert refused(front, {"Action": "GetCallerIdentity"}, keys) == INVALID


def test_the_secret_is_needed(front: LoopedFront) -> None:
    access_key, _, token = assumed(front)
    for secret in ("", SHOP.secret_key):
        code, message = place(front, (access_key, secret, token))
        assert code == "InvalidSignatureException"
        assert message.startswith("The request signature we calculated does not match")
    status, code, _ = refused(front, {"Action": "GetCallerIdentity"}, (access_key, "wrong", token))
    assert (status, code) == (403, "SignatureDoesNotMatch")


def test_two_sessions_with_the_same_access_key(front: LoopedFront, monkeypatch: pytest.MonkeyPatch) -> None:
    """Access keys of sessions have four random characters: some are given twice, and no cache may mix them up."""
    monkeypatch.setattr("hashrange.sts.session.secrets.choice", lambda letters: letters[0])
    first, second = assumed(front), assumed(front, RoleSessionName="ben")
    assert first[0] == second[0]
    assert first[1] != second[1]
    for _ in range(2):
        assert place(front, first) == place(front, second) == ("111122223333", "eu-west-1")
    assert place(front, (first[0], first[1], second[2]))[0] == "InvalidSignatureException"


def test_temporary_keys_of_the_file_get_no_session_token(front: LoopedFront) -> None:
    own = (BRIEF.access_key, BRIEF.secret_key, BRIEF.session_token)
    assert refused(front, {"Action": "GetSessionToken"}, own)[1] == "AccessDenied"
    keys = keys_in(ask_sts(front, {"Action": "GetSessionToken"}))
    assert place(front, keys) == ("111122223333", "eu-west-1")
    assert arn(front, keys) == "arn:aws:iam::111122223333:root"
    assert refused(front, {"Action": "GetSessionToken"}, keys)[1] == "AccessDenied"


def test_the_account_of_a_key(front: LoopedFront) -> None:
    def account(key: str) -> str | None:
        return ask_sts(front, {"Action": "GetAccessKeyInfo", "AccessKeyId": key}).findtext(f".//{NAMESPACE}Account")

    assert account(assumed(front)[0]) == "111122223333"
    unknown = {"Action": "GetAccessKeyInfo", "AccessKeyId": "ASIA999900001111ABCD"}
    assert refused(front, unknown) == (
        400,
        "ValidationError",
        "The access key ASIA999900001111ABCD is none of the credentials file, and none of a session of its accounts.",
    )


def test_web_identities_are_not_believed(front: LoopedFront) -> None:
    members = ASSUME | {"Action": "AssumeRoleWithWebIdentity", "WebIdentityToken": "abcd"}
    status, code, message = refused(front, members)
    assert (status, code) == (403, "AccessDenied")
    assert message.startswith("Not authorized to perform sts:AssumeRoleWithWebIdentity. ")


def test_a_presigned_request(front: LoopedFront) -> None:
    """As clusters of Kubernetes and vaults send it: another header is signed too, which names them."""
    from botocore.auth import SigV4QueryAuth
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials

    access_key, secret, token = assumed(front)
    url = "http://localhost:8000/?Action=GetCallerIdentity&Version=2011-06-15"
    request = AWSRequest("GET", url, headers={"x-k8s-aws-id": "shop"})
    signer = SigV4QueryAuth(Credentials(access_key, secret, token), "sts", "eu-west-1", expires=60)
    request.context["timestamp"] = amz_date(front.clock.wall_time())
    # botocore signs with the machine's time; everything behind `add_auth`'s first lines is repeated here.
    signer._modify_request_before_signing(request)
    signature = signer.signature(signer.string_to_sign(request, signer.canonical_request(request)), request)
    path = request.url.removeprefix("http://localhost:8000") + f"&X-Amz-Signature={signature}"

    def get(name: str) -> Any:
        return reply(front.ask(as_bytes({"Host": "localhost:8000", "x-k8s-aws-id": name}, b"", f"GET {path} HTTP/1.1")))

    answer = get("shop")
    assert answer.status == 200
    assert b"<Arn>arn:aws:sts::111122223333:assumed-role/deploy/anna</Arn>" in answer.body
    assert b"<Code>SignatureDoesNotMatch</Code>" in get("bank").body
    front.clock.advance_all(61)
    assert b"<Code>SignatureDoesNotMatch</Code>" in get("shop").body
