"""What do commands make of an endpoint that answers wrongly, for ever, or with what commands a terminal?
They end with one sentence.
"""

import gzip
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import chain, count, repeat
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from hashrange import bounded_replies
from hashrange.cli.main import FAILED, main
from hashrange.toolkit.replies import SAME_PAGE
from tests.unit.cli.test_hostile_text import EVIL, require_harmless

Printed = pytest.CaptureFixture[str]
Answer = Callable[[str], Iterator[bytes]]
"""Operation → the bytes that are sent: a whole reply, or one without end."""

REQUESTS_MAX = 100

TABLE = {
    "TableName": "abc",
    "TableStatus": "ACTIVE",
    "TableArn": "arn:aws:dynamodb:us-east-1:000000000000:table/abc",
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
    "BillingModeSummary": {"BillingMode": "PAY_PER_REQUEST"},
    "LatestStreamArn": "arn:aws:dynamodb:us-east-1:000000000000:table/abc/stream/2026-01-01T00:00:00.000",
    "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"},
}
PAGE = {"Items": [{"pk": {"S": "a"}}], "Count": 1, "ScannedCount": 1, "LastEvaluatedKey": {"pk": {"S": "a"}}}
REPLIES: dict[str, Any] = {
    "CreateTable": {"TableDescription": TABLE},
    "DeleteTable": {"TableDescription": TABLE},
    "DescribeContinuousBackups": {"ContinuousBackupsDescription": {"ContinuousBackupsStatus": "ENABLED"}},
    "DescribeStream": {
        "StreamDescription": {
            "StreamStatus": "ENABLED",
            "Shards": [],
            "LastEvaluatedShardId": "shardId-00000000000000000000-00000000",
        }
    },
    "DescribeTable": {"Table": TABLE},
    "DescribeTimeToLive": {"TimeToLiveDescription": {"TimeToLiveStatus": "DISABLED"}},
    "GetResourcePolicy": {"Policy": "{}"},
    "ListTables": {"TableNames": [], "LastEvaluatedTableName": "abc"},
    "ListTagsOfResource": {"Tags": [{"Key": "k", "Value": "v"}], "NextToken": "t"},
    "Query": PAGE,
    "Scan": PAGE,
}
TEMPLATE = """
Resources:
  T:
    Type: AWS::DynamoDB::Table
    Properties:
      TableName: abc
      BillingMode: PAY_PER_REQUEST
      KeySchema: [{AttributeName: pk, KeyType: HASH}]
      AttributeDefinitions: [{AttributeName: pk, AttributeType: S}]
"""
MODEL = {
    "version": 1,
    "name": "m",
    "tables": [{name: TABLE[name] for name in ("TableName", "AttributeDefinitions", "KeySchema")}],
    "entities": [
        {
            "name": "E",
            "key": {"pk": "A#{a}"},
            "attributes": {"a": {"type": "S", "required": True}},
            "samples": [{"a": "1"}],
        }
    ],
    "accessPatterns": [
        {
            "name": "P",
            "entities": ["E"],
            "operation": "Query",
            "partitionKey": "A#{a}",
            "sample": {"values": {"a": "1"}, "itemCount": 1},
        }
    ],
}
COMMANDS = {
    "design": ["design", "--from", "abc"],
    "apply": ["apply", "TEMPLATE", "--yes"],
    "model": ["model", "MODEL", "--yes"],
    "unarchive": ["unarchive", "bucket", "abc"],
    "scan": ["scan", "--table", "abc"],
    "load": ["load", "ITEMS", "--table", "abc"],
    "copy": ["copy", "--table", "abc", "--to-table", "abcd", "--to-endpoint", "ENDPOINT"],
    "capacity": ["capacity", "--from-table", "abc", "--reads", "1", "--writes", "1"],
    "diagnose": ["diagnose", "abc"],
    "tail": ["tail", "abc", "--once"],
}


@contextmanager
def hostile(answer: Answer) -> Iterator[str]:
    """The endpoint of a server that sends what `answer` gives, up to so many requests that a test fails, not hangs."""
    requests = count(1)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            operation = (self.headers.get("X-Amz-Target") or "").rpartition(".")[2]
            try:
                for piece in answer(operation) if next(requests) <= REQUESTS_MAX else refusal():
                    self.wfile.write(piece)
            except OSError:
                self.close_connection = True

        do_GET = do_PUT = do_DELETE = do_POST

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as serving:
        serving.daemon_threads = True
        thread = Thread(target=serving.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{serving.server_port}"
        finally:
            serving.shutdown()
            thread.join()


def whole(body: bytes, headers: bytes = b"") -> Iterator[bytes]:
    """A reply with success."""
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/x-amz-json-1.0\r\nContent-Length: %d\r\n%b\r\n"
    yield head % (len(body), headers) + body


def refusal() -> Iterator[bytes]:
    """A reply with an error that nothing is done about."""
    body = b'{"__type": "x#ResourceNotFoundException", "message": "Enough."}'
    yield b"HTTP/1.1 400 Bad\r\nContent-Type: application/x-amz-json-1.0\r\nContent-Length: %d\r\n\r\n" % len(body)
    yield body


def saying(reply: Any) -> Answer:
    """The same reply to each request."""
    body = reply if isinstance(reply, bytes) else json.dumps(reply).encode()
    return lambda _: whole(body)


def replying(**changed: Any) -> Answer:
    """Usual replies, except these, and those whose pages lead to themselves."""
    replies = REPLIES | changed
    return lambda operation: whole(json.dumps(replies.get(operation, {})).encode())


def described(**members: Any) -> Answer:
    """A table with these members."""
    table = TABLE | members
    return replying(DescribeTable={"Table": table}, CreateTable={"TableDescription": table})


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("files")
    texts = {"TEMPLATE": TEMPLATE, "MODEL": json.dumps(MODEL), "ITEMS": '{"pk": "a"}\n'}
    for name, text in texts.items():
        (folder / name).with_suffix(".yaml" if name == "TEMPLATE" else ".json").write_text(text, encoding="utf-8")
    return {name: str((folder / name).with_suffix(".yaml" if name == "TEMPLATE" else ".json")) for name in texts}


@pytest.fixture(autouse=True)
def no_aws(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "missing"))
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "hashrange")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.chdir(tmp_path)


def told_by(command: str, files: dict[str, str], answer: Answer, capsys: Printed) -> str:
    """What a command prints on standard error as it fails."""
    with hostile(answer) as endpoint:
        words = [(files | {"ENDPOINT": endpoint}).get(word, word) for word in COMMANDS[command]]
        code = main([*words, "--endpoint", endpoint])
    captured = capsys.readouterr()
    require_harmless(captured.err)
    require_harmless(captured.out)
    assert code == FAILED, captured.err
    return captured.err


@pytest.mark.parametrize(
    "answer",
    [
        saying({}),
        saying(gzip.compress(b"{}")),
        saying(b"[" * 100_000),
        saying([1]),
        lambda _: whole(b"{}", b"x-amz-crc32: abc\r\n"),
        described(ItemCount=10**400),
        described(CreationDateTime=EVIL),
        described(KeySchema=5, TableStatus={"a": EVIL}),
        described(KeySchema=[{"AttributeName": EVIL, "KeyType": "HASH"}]),
    ],
    ids=["empty", "gzip", "deep", "list", "checksum", "number", "time", "types", "keys"],
)
@pytest.mark.parametrize("command", ["design", "apply", "model", "unarchive", "scan", "load", "capacity", "diagnose"])
def test_a_wrong_reply_is_told_in_a_sentence(
    command: str, answer: Answer, files: dict[str, str], capsys: Printed
) -> None:
    told = told_by(command, files, answer, capsys)
    assert told.splitlines()[-1].startswith("hashrange: ")


@pytest.mark.parametrize("command", ["apply", "model", "scan", "copy", "capacity", "tail"])
def test_pages_that_lead_to_themselves_are_told(command: str, files: dict[str, str], capsys: Printed) -> None:
    assert SAME_PAGE in told_by(command, files, replying(), capsys)


def test_diagnose_tells_why_it_has_no_sample(capsys: Printed) -> None:
    with hostile(replying()) as endpoint:
        main(["diagnose", "abc", "--endpoint", endpoint])
    assert SAME_PAGE in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("operation", "command"),
    [("GetResourcePolicy", "apply"), ("DescribeTimeToLive", "unarchive"), ("DescribeTable", "copy")],
)
def test_a_missing_member_is_told_by_its_name(
    operation: str, command: str, files: dict[str, str], capsys: Printed
) -> None:
    told = told_by(command, files, replying(**{operation: {}, "ListTagsOfResource": {}}), capsys)
    assert f"to {operation} is none of DynamoDB's: it lacks " in told


@pytest.mark.parametrize("command", ["design", "scan", "unarchive", "tail"])
@pytest.mark.parametrize(
    ("first", "then"),
    [
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 1000),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"8000\r\n" + b"a" * 0x8000 + b"\r\n"),
    ],
    ids=["head", "body"],
)
def test_a_reply_without_end_is_told(
    command: str,
    first: bytes,
    then: bytes,
    files: dict[str, str],
    capsys: Printed,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(bounded_replies, "HEAD_BYTES_MAX", 100_000)
    monkeypatch.setattr(bounded_replies, "BODY_BYTES_MAX", 1_000_000)
    assert "a reply that has no end" in told_by(command, files, lambda _: chain([first], repeat(then, 50)), capsys)


@pytest.mark.parametrize("command", ["design", "unarchive", "tail"])
def test_a_reply_that_takes_too_long_is_told(
    command: str, files: dict[str, str], capsys: Printed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounded_replies, "WHOLE_REPLY_SECONDS_MAX", -1)
    assert "a reply that has no end" in told_by(command, files, replying(), capsys)


def test_the_traceback_of_an_unexpected_error_commands_no_terminal() -> None:
    code = f"""
import sys
from hashrange.cli import main
sys.argv = ["hashrange", "version"]
def fail(words): raise LookupError({EVIL!r})
main._run = fail
sys.exit(main.main())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == FAILED
    require_harmless(done.stderr)
    assert "LookupError: \\x1b[2J" in done.stderr
