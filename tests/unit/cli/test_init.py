"""`hashrange serve --init DIR` as a process: content before the first line, once to a data folder, all or nothing even
when killed; one sentence for a fault.
"""

import json
import signal
from typing import Any

import pytest

from hashrange.cli.dynamodb_local import ready_lines
from hashrange.settings import Settings
from tests.support.raw_client import RawClient
from tests.support.waiting import wait_until
from tests.unit.cli.test_serve import Serving, Starter, begin_process, start
from tests.unit.init.folders import USERS, make_folder

__all__ = ["start"]

ITEMS = 4000
LINES = "".join(f'{{"id": "{number}"}}\n' for number in range(ITEMS))


def client_of(serving: Serving) -> RawClient:
    assert serving.line.startswith("Hashrange serves"), serving.line + serving.stop()[2]
    return RawClient("127.0.0.1", int(serving.endpoint.rpartition(":")[2]))


def count(serving: Serving, table: str = "Users") -> Any:
    """Number of items; None if there is no such table."""
    answer = client_of(serving)("Scan", {"TableName": table, "Select": "COUNT"})
    return answer.json()["Count"] if answer.status == 200 else None


def test_content_is_there_with_the_first_line_and_applied_once(start: Starter) -> None:
    make_folder(start.folder / "init", {"10.json": USERS, "20-Users.jsonl": '{"id": "ada"}\n'})
    words = ("serve", "--port", "0", "--data-dir", "data", "--admin")
    serving = start(*words, "--init", "init")
    assert count(serving) == 1
    assert client_of(serving).send("GET", "/_hashrange/v1/ready", {}, b"").json() == {"ready": True}
    key = {"TableName": "Users", "Key": {"id": {"S": "ada"}}}
    assert client_of(serving)("DeleteItem", key).status == 200
    code, out, errors = serving.stop()
    assert (code, out) == (0, "")
    assert errors.endswith(" INFO hashrange.init: init: 2 files applied, with 1 new table and 1 item\n")
    kept = start(*words, "--init", "init")
    assert count(kept) == 0
    assert client_of(kept)("PutItem", {"TableName": "Users", "Item": {"id": {"S": "bob"}}}).status == 200
    assert client_of(kept).send("POST", "/_hashrange/v1/reset", {}, b"").json() == {}
    assert client_of(kept)("Scan", {"TableName": "Users"}).json()["Items"] == [{"id": {"S": "ada"}}]
    make_folder(start.folder / "init", {"30.json": {}})
    refused = client_of(kept).send("POST", "/_hashrange/v1/reset", {}, b"")
    assert refused.status == 409
    assert refused.json()["error"].startswith("the init file init/30.json cannot be applied: it holds no request")
    assert count(kept) == 1
    assert kept.stop() == (0, "", "")


@pytest.mark.parametrize("signal_number", [signal.SIGKILL, signal.SIGTERM])
def test_a_server_that_ends_meanwhile_has_applied_all_or_nothing(signal_number: int, start: Starter) -> None:
    make_folder(start.folder / "init", {"10.json": USERS, "20-Users.jsonl": LINES})
    copies = start.folder / "data" / "copies"
    words = ("serve", "--port", "0", "--data-dir", "data")
    starting = begin_process(start.folder, [*words, "--init", "init"])
    try:
        wait_until(lambda: starting.poll() is not None or (copies.exists() and any(copies.iterdir())))
        starting.send_signal(signal_number)
        out, errors = starting.communicate(timeout=60)
    finally:
        starting.kill()
    was_ready = out.startswith("Hashrange serves")
    expected_code = 0 if signal_number == signal.SIGTERM else -signal_number
    assert was_ready or (starting.returncode, out, errors) == (expected_code, "", "")
    serving = start(*words)
    assert count(serving) in ({ITEMS} if was_ready else {None, ITEMS})
    serving.stop()
    again = start(*words, "--init", "init")
    assert count(again) == ITEMS


@pytest.mark.parametrize(
    ("files", "sentence"),
    [
        (None, "the init folder 'init' cannot be read: No such file or directory. Mend --init, or the folder."),
        (
            {"10.json": USERS, "20-Users.jsonl": '{"id": 7}'},
            (
                "the init file init/20-Users.jsonl cannot be applied: line 1: PutItem: ValidationException:"
                " One or more parameter values were invalid: Type mismatch for key id expected: S actual: N."
                " Nothing of the folder was applied; mend the file and try again."
            ),
        ),
    ],
)
def test_a_fault_is_one_sentence(files: dict[str, object] | None, sentence: str, start: Starter) -> None:
    if files is not None:
        make_folder(start.folder / "init", files)
    serving = start("serve", "--port", "0", "--data-dir", "data", "--init", "init")
    assert serving.line == ""
    assert serving.stop() == (2, "", f"hashrange: {sentence}\n")


def test_an_empty_folder_says_nothing(start: Starter) -> None:
    make_folder(start.folder / "init", {})
    serving = start("-jar", "DynamoDBLocal.jar", "-inMemory", "-port", "0", "--init", "init")
    assert count(serving) is None
    code, _, errors = serving.stop()
    assert (code, errors) == (0, "")


def test_started_like_dynamodb_local_it_prints_what_tools_wait_for(start: Starter) -> None:
    make_folder(start.folder / "init", {"10.json": [USERS], "20-Users.jsonl": LINES})
    words = ["-Djava.library.path=./DynamoDBLocal_lib", "-jar", "DynamoDBLocal.jar", "-sharedDb", "-dbPath", "data"]
    serving = start(*words, "-delayTransientStatuses", "-port", "0", "--init", "init")
    assert serving.process.stdout is not None
    lines = [serving.process.stdout.readline() for _ in range(9)]
    assert count(serving) == ITEMS
    port = serving.endpoint.rpartition(":")[2]
    assert lines[0] == "Initializing DynamoDB Local with the following configuration:\n"
    assert lines[1:3] == [f"Port:\t{port}\n", "InMemory:\tfalse\n"]
    assert lines[4:] == [
        "DbPath:\tdata\n",
        "SharedDb:\ttrue\n",
        "shouldDelayTransientStatuses:\ttrue\n",
        "CorsParams:\t*\n",
        "\n",
    ]
    assert serving.stop()[:2] == (0, "")


def test_our_own_flags_print_our_line_only(start: Starter) -> None:
    assert start("--in-memory", "--port", "0").stop() == (0, "", "")


def test_the_lines_of_a_database_in_memory() -> None:
    lines = ready_lines(Settings(data_dir=None), 8000).splitlines()
    assert lines[2:] == [
        "InMemory:\ttrue",
        lines[3],
        "DbPath:\tnull",
        "SharedDb:\tfalse",
        "shouldDelayTransientStatuses:\tfalse",
        "CorsParams:\t*",
    ]
    assert json.dumps(lines[3]).startswith('"Version:\\tHashrange ')
