"""Authentication: which requests are accepted with and without a credentials file."""

import re
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials as BotocoreCredentials

from hashrange.server.credentials import Credential, CredentialsFileError, read_credentials
from tests.support.signing import ACCESS_KEY, SECRET_KEY, presign, sign_chunks
from tests.unit.server.harness import FrontEnd, as_bytes, reply

SESSION = Credential(
    "ASIASESSION", "secret", session_token="token", expires=datetime(2027, 1, 16, tzinfo=UTC), account="111122223333"
)
JSON_HEADERS = {"Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": "DynamoDB_20120810.GetItem"}
CREDENTIALS = {
    ACCESS_KEY: Credential(ACCESS_KEY, SECRET_KEY),
    "AKIDEUROPE": Credential("AKIDEUROPE", "secret", account="123456789012", regions=("eu-west-1", "eu-north-1")),
    "ASIASESSION": SESSION,
    "ASIAFOREVER": Credential("ASIAFOREVER", "secret", session_token="token"),
}


@pytest.fixture
def strict() -> FrontEnd:
    return FrontEnd(CREDENTIALS)


def code_and_message(data: bytes) -> tuple[str, str]:
    answer = reply(data)
    assert answer.status == 400, answer
    body = msgspec.json.decode(answer.body)
    return body["__type"], body.get("message", "")


def place(data: bytes) -> tuple[str, str]:
    answer = reply(data)
    assert answer.status == 200, answer
    body = msgspec.json.decode(answer.body)
    return body["account"], body["region"]


def test_without_credentials_the_region_is_the_scopes_and_the_signature_does_not_matter() -> None:
    front = FrontEnd()
    for _ in range(2):
        assert place(front.ask(front.request(secret="wrong", region="eu-west-1"))) == ("000000000000", "eu-west-1")
        assert place(front.ask(front.request(region="ap-south-1"))) == ("000000000000", "ap-south-1")


def test_without_credentials_an_access_key_of_12_digits_is_the_account() -> None:
    front = FrontEnd()
    for key, account in [
        ("000000000007", "000000000007"),
        ("00000000007", "000000000000"),
        ("0000000000070", "000000000000"),
        ("00000000000A", "000000000000"),
    ]:
        for _ in range(2):
            assert place(front.ask(front.request(access_key=key))) == (account, "us-east-1")


def test_without_credentials_form_date_and_scope_matter_on_a_known_signers_request_too() -> None:
    front = FrontEnd()
    good = front.request()
    assert reply(front.ask(good)).status == 200
    front.clock.advance(901)
    assert reply(front.ask(good)).status == 200, "a signature is as old as the world's time says, not the service's"
    front.clock.advance_all(901)
    kind, message = code_and_message(front.ask(good))
    assert kind == "com.amazon.coral.service#InvalidSignatureException"
    assert message.startswith("Signature expired: ")
    unsigned = as_bytes(
        {
            "Host": "x",
            "Content-Type": "application/json",
            "X-Amz-Target": "DynamoDB_20120810.GetItem",
            "Content-Length": "2",
        },
        b"{}",
    )
    assert code_and_message(front.ask(unsigned)) == (
        "com.amazon.coral.service#MissingAuthenticationTokenException", "Request is missing Authentication Token",
    )  # fmt: skip


def test_a_right_signature_is_let_in_again_and_again(strict: FrontEnd) -> None:
    for number in range(3):
        assert place(strict.ask(strict.request(b'{"TableName":"t%d"}' % number))) == ("000000000000", "us-east-1")


def test_a_wrong_signature_is_refused_before_and_after_a_right_one(strict: FrontEnd) -> None:
    wrong = strict.request(secret="wrong")
    for _ in range(2):
        kind, message = code_and_message(strict.ask(wrong))
        assert kind == "com.amazon.coral.service#InvalidSignatureException"
        assert message.startswith("The request signature we calculated does not match")
        assert reply(strict.ask(strict.request())).status == 200
    changed = strict.request().replace(b'"music"', b'"muzak"')
    assert code_and_message(strict.ask(changed))[0].endswith("InvalidSignatureException")


@pytest.mark.parametrize("url", [b"/other", b"/?a=b"])
def test_a_signature_for_another_url_is_refused_although_its_signer_is_known(strict: FrontEnd, url: bytes) -> None:
    data = strict.request()
    assert place(strict.ask(data)) == ("000000000000", "us-east-1")
    moved = data.replace(b"POST / ", b"POST " + url + b" ", 1)
    assert code_and_message(strict.ask(moved))[0].endswith("#InvalidSignatureException")
    assert place(strict.ask(data)) == ("000000000000", "us-east-1")


def test_a_signature_of_another_day_is_refused_although_its_key_is_known(strict: FrontEnd) -> None:
    first = strict.request()
    assert reply(strict.ask(first)).status == 200
    strict.clock.advance_all(86_400)
    _, message = code_and_message(strict.ask(first))
    assert message.startswith("Signature expired")
    assert reply(strict.ask(strict.request())).status == 200


def test_an_unknown_key(strict: FrontEnd) -> None:
    assert code_and_message(strict.ask(strict.request(access_key="NOBODY"))) == (
        "com.amazon.coral.service#UnrecognizedClientException",
        "The security token included in the request is invalid.",
    )


def test_account_and_regions_are_the_credentials(strict: FrontEnd) -> None:
    europe: dict[str, Any] = {"access_key": "AKIDEUROPE", "secret": "secret"}
    assert place(strict.ask(strict.request(region="eu-west-1", **europe))) == ("123456789012", "eu-west-1")
    assert code_and_message(strict.ask(strict.request(region="us-east-1", **europe))) == (
        "com.amazon.coral.service#InvalidSignatureException",
        "Credential should be scoped to a valid region, not 'us-east-1'.",
    )


@pytest.mark.parametrize("access_key", ["ASIASESSION", "ASIAFOREVER"])
def test_a_session_needs_its_token(strict: FrontEnd, access_key: str) -> None:
    session: dict[str, Any] = {"access_key": access_key, "secret": "secret"}
    invalid = (
        "com.amazon.coral.service#UnrecognizedClientException", "The security token included in the request is invalid",
    )  # fmt: skip
    for _ in range(2):
        assert reply(strict.ask(strict.request(headers={"X-Amz-Security-Token": "token"}, **session))).status == 200
        assert code_and_message(strict.ask(strict.request(**session))) == invalid
        assert (
            code_and_message(strict.ask(strict.request(headers={"X-Amz-Security-Token": "other"}, **session)))
            == invalid
        )


def test_a_token_with_a_key_that_has_none_is_refused(strict: FrontEnd) -> None:
    token = {"X-Amz-Security-Token": "token"}
    assert reply(strict.ask(strict.request())).status == 200
    assert code_and_message(strict.ask(strict.request(headers=token)))[0].endswith("UnrecognizedClientException")


def test_a_session_ends(strict: FrontEnd) -> None:
    strict.clock.advance_all(SESSION.expires.timestamp() - strict.clock.wall_time())  # type: ignore[union-attr]
    request = strict.request(access_key="ASIASESSION", secret="secret", headers={"X-Amz-Security-Token": "token"})
    assert code_and_message(strict.ask(request)) == (
        "com.amazon.coral.service#ExpiredTokenException", "The security token included in the request is expired",
    )  # fmt: skip


def test_unsigned_payloads_and_signed_chunks(strict: FrontEnd) -> None:
    marker = {"X-Amz-Content-SHA256": "UNSIGNED-PAYLOAD"}
    assert reply(strict.ask(strict.request(headers=marker, payload_hash="UNSIGNED-PAYLOAD"))).status == 200
    for name, status in (("STREAMING-UNSIGNED-PAYLOAD-TRAILER", 200), ("STREAMING-AWS4-HMAC-SHA256-PAYLOAD", 400)):
        chunks = b'15;chunk-signature=0\r\n{"TableName":"music"}\r\n0;chunk-signature=0\r\n\r\n'
        request = strict.request(
            chunks, headers={"X-Amz-Content-SHA256": name, "Content-Encoding": "aws-chunked"}, payload_hash=name
        )
        assert reply(strict.ask(request)).status == status, name


# --- requests signed by an SDK ------------------------------------------------------------------


@pytest.mark.parametrize("marker", [
    "STREAMING-AWS4-HMAC-SHA256-PAYLOAD", "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER",
])  # fmt: skip
def test_each_signed_chunk_is_checked_trailers_announced_or_not(strict: FrontEnd, marker: str) -> None:
    headers = {
        "X-Amz-Content-SHA256": marker,
        "Content-Encoding": "aws-chunked",
        "X-Amz-Trailer": "x-amz-checksum-crc32",
    }
    names = ["host", "x-amz-content-sha256", "x-amz-date", "x-amz-trailer"]

    def head_of(length: int) -> bytes:
        sent = {**headers, "Content-Length": str(length)}
        return strict.request(b"", headers=sent, payload_hash=marker, signed=names)

    signature = head_of(0).rpartition(b"Signature=")[2].strip().decode()
    pieces = [b'{"TableName":', b'"music"}', b""]
    chunks = (
        sign_chunks(pieces, signature, seconds=strict.clock.wall_time()) + b"x-amz-checksum-crc32: AAAAAA==\r\n\r\n"
    )
    assert reply(strict.ask(head_of(len(chunks)) + chunks)).status == 200
    for changed in (
        chunks.replace(b'"music"', b'"muzak"'),
        re.sub(b";chunk-signature=[0-9a-f]+", b"", chunks),
        chunks.replace(b"\n0;chunk-signature=", b"\n0;signature="),
    ):
        kind, _ = code_and_message(strict.ask(head_of(len(changed)) + changed))
        assert kind == "com.amazon.coral.service#InvalidSignatureException", changed


@pytest.mark.parametrize(("marker", "body", "code"), [
    ("STREAMING-FOO", b'{"TableName":"music"}', "InvalidSignatureException"),
    ("STREAMING-", b'{"TableName":"music"}', "InvalidSignatureException"),
    ("STREAMING-FOO", b'15\r\n{"TableName":"music"}\r\n0\r\n\r\n', "SerializationException"),
    ("STREAMING-UNSIGNED-PAYLOAD-TRAILER", b'{"TableName":"music"}', "SerializationException"),
    ("STREAMING-AWS4-HMAC-SHA256-PAYLOAD", b'{"TableName":"music"}', "SerializationException"),
])  # fmt: skip
def test_a_payload_that_is_not_what_its_marker_says_is_refused(
    strict: FrontEnd, marker: str, body: bytes, code: str
) -> None:
    data = strict.request(body, headers={"X-Amz-Content-SHA256": marker}, payload_hash=marker)
    for _ in range(2):
        assert code_and_message(strict.ask(data))[0] == f"com.amazon.coral.service#{code}"


@pytest.mark.parametrize("blanks", [" ", "\t", " \t  "])
def test_blanks_around_the_values_of_headers_do_not_matter(strict: FrontEnd, blanks: str) -> None:
    session: dict[str, Any] = {"access_key": "ASIAFOREVER", "secret": "secret"}
    plain = {"X-Amz-Security-Token": "token", "X-Amz-Content-SHA256": "UNSIGNED-PAYLOAD"}
    request = strict.request(headers=plain, payload_hash="UNSIGNED-PAYLOAD", **session)
    head, _, body = request.partition(b"\r\n\r\n")
    line, *lines = head.split(b"\r\n")
    around = blanks.encode()
    padded = b"\r\n".join([line, *(header.replace(b": ", b":" + around) + around for header in lines)])
    for data in (padded, head, padded, head):
        assert reply(strict.ask(data + b"\r\n\r\n" + body)).status == 200, data


@pytest.mark.parametrize("token", [None, "token"])
def test_what_botocore_signs_is_let_in(token: str | None) -> None:
    front = FrontEnd(CREDENTIALS, start_seconds=time.time())
    key = BotocoreCredentials("ASIAFOREVER", "secret", token) if token else BotocoreCredentials(ACCESS_KEY, SECRET_KEY)
    body = b'{"TableName":"music"}'
    request = AWSRequest("POST", "http://localhost:8000/", JSON_HEADERS, body)
    SigV4Auth(key, "dynamodb", "eu-west-1").add_auth(request)
    headers = {name: to_text(value) for name, value in request.prepare().headers.items()}
    data = as_bytes({**headers, "Host": "localhost:8000"}, body)
    for _ in range(2):
        assert place(front.ask(data)) == ("000000000000", "eu-west-1")
        assert code_and_message(front.ask(data.replace(b"music", b"muzak")))[0].endswith("InvalidSignatureException")


@pytest.mark.parametrize(("old", "new"), [
    ("SignedHeaders=content-type", "SignedHeaders=%E4%BD%A0%3Bcontent-type"),
    ("SignedHeaders=content-type", "SignedHeaders=%C4%B0%3Bcontent-type"),
    ("SignedHeaders=content-type", "SignedHeaders=%FF%3Bcontent-type"),
    ("Signature=", "Signature=%E4%BD%A0"),
])  # fmt: skip
def test_a_presigned_request_with_text_beyond_latin_1_has_a_wrong_signature(
    strict: FrontEnd, old: str, new: str
) -> None:
    body = b'{"TableName":"music"}'
    headers = {"Host": "localhost:8000", **JSON_HEADERS}
    url = presign(headers, body, seconds=strict.clock.wall_time())
    assert old in url
    line = f"POST {url.replace(old, new)} HTTP/1.1"
    data = as_bytes({**headers, "Content-Length": str(len(body))}, body, line)
    kind, message = code_and_message(strict.ask(data))
    assert kind == "com.amazon.coral.service#InvalidSignatureException"
    assert message.startswith("The request signature we calculated does not match")
    # Without a credentials file no signature is checked, so any signature is accepted.
    assert reply(FrontEnd().ask(data)).status == 200


@pytest.mark.parametrize("token", [None, "token"])
def test_presigned_requests_are_let_in_until_they_expire(strict: FrontEnd, token: str | None) -> None:
    key = {"access_key": "ASIAFOREVER", "secret": "secret"} if token else {}
    body = b'{"TableName":"music"}'
    headers = {**JSON_HEADERS, "Host": "localhost:8000"}
    url = presign(
        headers, body, seconds=strict.clock.wall_time(), region="eu-west-1", expires_seconds=3600, token=token, **key
    )
    data = as_bytes({**headers, "Content-Length": str(len(body))}, body, f"POST {url} HTTP/1.1")
    assert place(strict.ask(data)) == ("000000000000", "eu-west-1")
    assert code_and_message(strict.ask(data.replace(b"music", b"muzak")))[0].endswith("InvalidSignatureException")
    strict.clock.advance_all(3601)
    assert code_and_message(strict.ask(data))[1].startswith("Signature expired")


def to_text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value


# --- the credentials file -----------------------------------------------------------------------


def test_the_file_may_be_toml_or_json(tmp_path: Path) -> None:
    toml = tmp_path / "keys.toml"
    toml.write_text(
        '[[credential]]\naccess_key = "a"\nsecret_key = "b"\nexpires = "2027-01-01T00:00:00Z"\n', encoding="utf-8"
    )
    (key,) = read_credentials(str(toml)).values()
    assert (key.account, key.regions, key.expires_seconds) == ("000000000000", None, 1_798_761_600)
    json = tmp_path / "keys.json"
    json.write_text(
        '{"credential": [{"access_key": "a", "secret_key": "b", "regions": ["eu-west-1"]}]}', encoding="utf-8"
    )
    assert read_credentials(str(json))["a"].regions == ("eu-west-1",)


@pytest.mark.parametrize(("text", "reason"), [
    ("", "credential"),
    ("credential = []", "names no credential"),
    ("not toml", "it is no TOML at line 1, column 5: "),
    ("credential = " + "9" * 5000, "a number in it has too many digits."),
    ('[[credential]]\naccess_key = "a"', "secret_key"),
    ('[[credential]]\naccess_key = "a"\nsecret_key = "b"\ntypo = 1', "typo"),
    ('[[credential]]\naccess_key = "a"\nsecret_key = "b"\naccount = "12"', "account"),
    ('[[credential]]\naccess_key = "a"\nsecret_key = "b"\n' * 2, "twice"),
    ('[[credential]]\naccess_key = "a/b"\nsecret_key = "b"', 'the access key "a/b", which cannot stand in a signature'),
    ('[[credential]]\naccess_key = "a b"\nsecret_key = "b"', "cannot stand in a signature"),
    ('[[credential]]\naccess_key = "a,b"\nsecret_key = "b"', "cannot stand in a signature"),
    ('[[credential]]\naccess_key = "ä"\nsecret_key = "b"', "cannot stand in a signature"),
    ('[[credential]]\naccess_key = "a"\nsecret_key = "b"\nregions = []', "lets a into no Region"),
    ('[[credential]]\naccess_key = "a"\nsecret_key = "b"\nregions = ["eu west"]', '"eu west", which can be no Region'),
    (None, "No such file"),
])  # fmt: skip
def test_an_unusable_file_is_named_with_its_reason(tmp_path: Path, text: str | None, reason: str) -> None:
    path = tmp_path / "keys.toml"
    if text is not None:
        path.write_text(text, encoding="utf-8")
    with pytest.raises(CredentialsFileError) as caught:
        read_credentials(str(path))
    assert str(path) in str(caught.value)
    assert reason in str(caught.value)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("keys.toml", '[[credential]]\naccess_key = "a"\nsecret_key = 90210443377'),
        ("keys.toml", '[[credential]]\naccess_key = "a"\nsecret_key = "b"\nsession_token = 90210443377'),
        ("keys.toml", 'credential = ["a:90210443377"]'),
        ("keys.toml", 'credential = "a:90210443377"'),
        ("keys.json", '{"credential": [{"access_key": "a", "secret_key": 90210443377}]}'),
        ("keys.json", '"90210443377"'),
    ],
)
def test_no_secret_is_told(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    with pytest.raises(CredentialsFileError, match="is not shown, because it may be secret; it must be ") as caught:
        read_credentials(str(path))
    assert "90210443377" not in str(caught.value)
