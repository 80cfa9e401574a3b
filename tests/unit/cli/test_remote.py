"""How commands call a server: what they say of odd replies, of requests that are too long,
and of keys that cannot be sent.
"""

import os
from http.client import HTTPResponse
from pathlib import Path
from typing import Any

import pytest

from hashrange.cli import remote as remote_module
from hashrange.cli.main import FAILED, WRONG_USE, main
from hashrange.cli.parsing import UsageError
from hashrange.cli.remote import RefusedRequest, Remote, RemoteError
from hashrange.limits import BODY_BYTES_MAX
from hashrange.settings import Settings
from tests.unit.cli.doctor_visits import NEGATIVE_CHUNK, Answering, listener, sending

TLS = Path(__file__).parents[2] / "data" / "tls"


@pytest.mark.parametrize(
    "date", ["yesterday", "Mon, 01 Jan 99999999999 00:00:00 GMT", "Mon, 01 Jan 0001 00:00:00 -0000"]
)
def test_a_date_that_is_none_counts_as_missing(date: str) -> None:
    with Answering(200, b'{"TableNames": []}', Date=date) as server:
        remote = Remote(server.url, "us-east-1", {})
        assert remote.ask("ListTables") == {"TableNames": []}
        assert remote.replied_at_seconds > 0
        remote.close()


def test_a_reply_that_is_nested_too_deeply_is_none_of_dynamodb() -> None:
    with Answering(200, b"[" * 100_000) as server:
        remote = Remote(server.url, "us-east-1", {})
        with pytest.raises(RemoteError, match="is no DynamoDB server"):
            remote.ask("ListTables")
        with pytest.raises(RemoteError, match="has no admin API"):
            remote.operate("GET", "info")
        remote.close()


@pytest.mark.parametrize("words", [["tail", "Users"], ["snapshot", os.devnull], ["dax"]], ids=lambda words: words[0])
def test_another_program_that_takes_every_request(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with Answering(200, b'{"status": "ok"}') as server:
        assert main([*words, "--endpoint", server.url]) == FAILED
    program = "DynamoDB" if words[0] == "tail" else "Hashrange"
    assert f"what answers at {server.url} is no {program} server, by its reply to " in capsys.readouterr().err


def test_a_chunk_of_negative_length_is_no_answer() -> None:
    with sending(NEGATIVE_CHUNK) as url:
        remote = Remote(url, "us-east-1", {})
        with pytest.raises(RemoteError, match=r"no server answers at .*: malformed reply"):
            remote.ask("ListTables")


@pytest.mark.parametrize(
    ("head", "told"),
    [
        (b"Content-Length: 100000000000", "is no DynamoDB server"),
        (b"Content-Length: 70000000", "no server answers at .*: a reply that has no end"),
    ],
)
def test_a_reply_is_read_up_to_a_bound(head: bytes, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first reply ends early; the other has more than is read."""
    monkeypatch.setattr(remote_module, "BODY_BYTES_MAX", 100_000)
    read: list[int | None] = []
    real = HTTPResponse.read

    def noted(reply: HTTPResponse, size: int | None = None) -> bytes:
        read.append(size)
        return real(reply, size)

    monkeypatch.setattr(HTTPResponse, "read", noted)
    body = b"x" * (1_000 if head.endswith(b"00000000000") else 200_000)
    with sending(b"HTTP/1.1 200 OK\r\n" + head + b"\r\n\r\n" + body) as url:
        remote = Remote(url, "us-east-1", {})
        with pytest.raises(RemoteError, match=told):
            remote.ask("ListTables")
        remote.close()
    assert set(read) == {100_001}


def test_a_request_that_is_too_long_is_told_as_such(endpoint: str) -> None:
    remote = Remote(endpoint, "us-east-1", {})
    with pytest.raises(RemoteError, match="refused PutItem: the request is longer than it takes"):
        remote.ask("PutItem", TableName="Users", Item={"id": {"S": "x" * BODY_BYTES_MAX}})
    remote.close()


def test_a_refusal_commands_no_terminal() -> None:
    with Answering(400, b'{"__type": "a#Odd\\u001b[2J", "message": "\\u001b[31mred"}') as server:
        remote = Remote(server.url, "us-east-1", {})
        with pytest.raises(RefusedRequest) as refused:
            remote.ask("ListTables")
        remote.close()
    assert str(refused.value).endswith("refused ListTables: Odd\\x1b[2J: \\x1b[31mred")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("AWS_ACCESS_KEY_ID", "\u20ac"),
        ("AWS_ACCESS_KEY_ID", "any\n"),
        ("AWS_SECRET_ACCESS_KEY", "s3cr3t\udcff"),
        ("AWS_SESSION_TOKEN", "s3cr3t\nnext"),
        ("AWS_REGION", "eu\nwest"),
    ],
)
def test_keys_that_cannot_be_sent_are_refused_and_not_shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str, value: str
) -> None:
    environment: dict[str, Any] = {"AWS_ACCESS_KEY_ID": "any", "AWS_SECRET_ACCESS_KEY": "any", name: value}
    for variable, text in environment.items():
        monkeypatch.setenv(variable, text)
    assert main(["tail", "Users", "--endpoint", "http://127.0.0.1:1"]) == WRONG_USE
    told = capsys.readouterr().err
    assert ("the Region" if name == "AWS_REGION" else name) in told
    assert "s3cr3t" not in told


@pytest.mark.parametrize("host", ["a..b", "a" * 70, "a b", "a\tb"])
def test_hosts_that_cannot_be_names_are_wrong_use(host: str) -> None:
    with pytest.raises(UsageError, match="--endpoint is"):
        Remote(f"http://{host}:8000", "us-east-1", {})


def test_a_certificate_is_trusted_as_sdks_trust_it() -> None:
    files: dict[str, Any] = {"tls_cert": str(TLS / "localhost.pem"), "tls_key": str(TLS / "localhost.key")}
    with listener(Settings(data_dir=None, port=0, **files)) as encrypted:
        place = f"https://localhost:{encrypted.rpartition(':')[2]}"
        remote = Remote(place, "us-east-1", {"AWS_CA_BUNDLE": files["tls_cert"]})
        assert remote.ask("ListTables") == {"TableNames": []}
        remote.close()
        with pytest.raises(RemoteError, match=r"is not trusted \(.*\)\. Name its authority's file in AWS_CA_BUNDLE\."):
            Remote(place, "us-east-1", {}).ask("ListTables")
    with pytest.raises(UsageError, match="AWS_CA_BUNDLE is /dev/null/bundle"):
        Remote(place, "us-east-1", {"AWS_CA_BUNDLE": "/dev/null/bundle"})


def test_nobody_answers() -> None:
    assert main(["tail", "Users", "--endpoint", "http://127.0.0.1:1"]) == FAILED
