"""No text of others commands the terminal: names, keys, values and answers hold what clears screens,
moves the cursor and turns text around.
"""

import io
import json
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from hashrange.cli import output
from hashrange.cli.log_lines import EscapedFormatter
from hashrange.cli.main import COMMANDS, main
from hashrange.cli.tail import show
from hashrange.init.files import InitError
from hashrange.settings import Settings
from hashrange.testing import server
from tests.unit.cli.doctor_visits import CLIENT, Doctor

Printed = pytest.CaptureFixture[str]

EVIL = "\x1b[2J\x07\x7f\x9b31m\u202eevil\u2028\r\n\U000e0001"
KEY = f"k{EVIL}"


def require_harmless(printed: str) -> None:
    """Nothing but printable characters, tabs and line ends, and no line that begins with what others have written."""
    assert printed.replace("\n", "").replace("\t", "").isprintable(), ascii(printed)
    assert not [line for line in printed.split("\n") if line.startswith("evil")]
    assert "\u202e" not in printed


def printed_by(words: list[str], capsys: Printed) -> str:
    """What a command prints, all of it harmless."""
    main(words)
    captured = capsys.readouterr()
    require_harmless(captured.err)
    require_harmless(captured.out)
    return captured.out + captured.err


@contextmanager
def answering(replies: Mapping[str, Any], status: int = 200) -> Iterator[str]:
    """Endpoint of a server that answers by the path or the operation of a request."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            name = (self.headers.get("X-Amz-Target") or self.path).rpartition(".")[2]
            body = json.dumps(replies.get(name, replies.get(""))).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_DELETE = do_GET

        def log_message(self, *_: object) -> None:
            pass

    other = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=other.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{other.server_port}"
    finally:
        other.shutdown()
        thread.join()
        other.server_close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder whose table has hostile attribute names, keys and values."""
    path = tmp_path_factory.mktemp("hostile") / "data"

    with server(Settings(data_dir=str(path), port=0)) as database:
        client = database.client()
        client.create_table(
            TableName="things",
            KeySchema=[{"AttributeName": EVIL, "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": EVIL, "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
        )
        item = {EVIL: {"S": KEY}, "v": {"SS": [EVIL]}, EVIL + "m": {"M": {EVIL: {"S": EVIL}}}}
        client.put_item(TableName="things", Item=item)
    return path


def test_inspect_prints_an_item_as_the_same_json(folder: Path, capsys: Printed) -> None:
    key = json.dumps({EVIL: {"S": KEY}})
    words = ["inspect", str(folder), "--table", "things", "--key", key]
    told = printed_by(words, capsys)
    assert json.loads(told.partition("\n")[2]) == {EVIL: KEY, "v": {"$set": [EVIL]}, EVIL + "m": {EVIL: EVIL}}
    told = printed_by([*words, "--dynamodb-json"], capsys)
    assert json.loads(told.partition("\n")[2]) == {
        EVIL: {"S": KEY},
        "v": {"SS": [EVIL]},
        EVIL + "m": {"M": {EVIL: {"S": EVIL}}},
    }


def test_inspect_lists_tables(folder: Path, capsys: Printed) -> None:
    assert "\\x1b[2J\\x07\\x7f\\x9b31m\\u202eevil" in printed_by(["inspect", str(folder)], capsys)


def test_check_reports_faults(folder: Path, capsys: Printed, monkeypatch: pytest.MonkeyPatch) -> None:
    report = type("Report", (), {"faults": [f"row {EVIL}"]})
    monkeypatch.setattr("hashrange.store.embedded.check.check_store", lambda *_: report)
    assert "row \\x1b[2J" in printed_by(["check", str(folder)], capsys)


@pytest.mark.parametrize("is_json", [True, False])
def test_tail_shows_changes(is_json: bool, capsys: Printed) -> None:
    record = {
        "eventName": f"INSERT{EVIL}",
        "dynamodb": {
            "ApproximateCreationDateTime": 1.0,
            "Keys": {EVIL: {"S": EVIL}},
            "NewImage": {EVIL: {"S": EVIL}, "n": {"N": EVIL}, "b": {"B": EVIL}, "m": {"M": {EVIL: {"SS": [EVIL]}}}},
            "StreamViewType": "NEW_IMAGE",
        },
    }
    show([record, record], is_json=is_json)
    told = capsys.readouterr().out
    require_harmless(told)
    assert told.count("\n") == 2
    if is_json:
        assert [json.loads(line) for line in told.splitlines()] == [record, record]


@pytest.mark.parametrize("words", [["tail", "things"], ["snapshot", "FILE"], ["dax"], ["doctor", "--endpoint-url"]])
@pytest.mark.parametrize("status", [200, 400, 413, 500])
def test_a_hostile_server(
    words: list[str], status: int, capsys: Printed, doctor: Doctor, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = {
        "cluster": EVIL,
        "node": EVIL,
        "port": EVIL,
        "connections": 1,
        "counts": {},
        "used_bytes": 1,
        "memory_bytes": 1,
        "evicted_bytes": 1,
        "hottest": [{"table": EVIL, "key": "G1syShs=", "reads": 1}, {"table": EVIL, "key": "gA==", "reads": 2}],
    }
    replies = {
        "": {"__type": f"x#{EVIL}", "message": EVIL, "error": EVIL, "nodes": [node], "TableNames": [EVIL], "Table": {}},
        "DescribeTable": {"Table": {"LatestStreamArn": EVIL, "StreamSpecification": {"StreamEnabled": True}}},
        "DescribeStream": {"__type": f"x#{EVIL}", "message": EVIL},
    }
    with answering(replies, status) as endpoint:
        if words[0] == "doctor":
            for name, value in CLIENT.items():
                monkeypatch.setenv(name, value)
            printed_by([*words, endpoint], capsys)
            printed_by([*words, endpoint, "--json"], capsys)
        else:
            written = str(doctor.home / "written")
            printed_by([*[written if word == "FILE" else word for word in words], "--endpoint", endpoint], capsys)


@pytest.mark.parametrize("command", [*COMMANDS, EVIL])
@pytest.mark.parametrize(
    "words", [[EVIL], [f"--{EVIL}"], ["--endpoint", EVIL], ["--key", EVIL, "x"], ["--config", EVIL]]
)
def test_hostile_words_of_a_command_line(
    command: str, words: list[str], capsys: Printed, free_port: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", f"http://127.0.0.1:{free_port}")  # whatever serves the usual port
    monkeypatch.chdir(tmp_path)
    printed_by([command, *words], capsys)


@pytest.mark.parametrize(
    ("flag", "value"),
    [
        ("--data-dir", f"/dev/null/{EVIL}"),
        ("--credentials", EVIL),
        ("--init", EVIL),
        ("--snapshot", EVIL),
        ("--faults", EVIL),
        ("--triggers", EVIL),
        ("--others", EVIL),
        ("--port", EVIL),
        ("--log-level", EVIL),
        ("--host", EVIL),
    ],
)
def test_settings_that_a_server_refuses(
    flag: str, value: str, capsys: Printed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert printed_by(["serve", "--port", "0", flag, value], capsys).startswith("hashrange: ")


def test_the_reason_of_an_init_folder() -> None:
    require_harmless(str(InitError(EVIL, EVIL)))


def test_every_line_and_every_progress_is_escaped(capsys: Printed) -> None:
    output.say("a", EVIL)
    output.complain(EVIL)
    output.show_progress(EVIL)
    captured = capsys.readouterr()
    require_harmless(captured.out)
    require_harmless(captured.err.replace("\r", ""))
    assert captured.out.count("\n") == 2


def test_the_log() -> None:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(EscapedFormatter("%(levelname)s %(name)s: %(message)s"))
    log = logging.getLogger("hashrange.hostile")
    log.addHandler(handler)
    try:
        log.warning("name %s", EVIL)
        assert stream.getvalue().count("\n") == 1
        try:
            raise ValueError(EVIL)
        except ValueError:
            log.exception("failed", stack_info=True)
    finally:
        log.removeHandler(handler)
    require_harmless(stream.getvalue())


def test_lines_that_handlers_print_stay_lines() -> None:
    record = logging.LogRecord("hashrange.functions", logging.INFO, "", 0, "f id one\n\x1btwo", None, None)
    assert EscapedFormatter("%(message)s").format(record) == "f id one\n\\x1btwo"
