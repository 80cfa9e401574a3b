"""Each fault of an init folder is one sentence with the file, the place in it, the reason and a remedy,
and nothing is applied.
"""

import asyncio
import gzip
import json
import os
from pathlib import Path

import pytest

from hashrange.clock import MovableClock, SystemClock
from hashrange.init.files import ENDINGS
from hashrange.limits import BODY_BYTES_MAX
from hashrange.service.opening import open_service
from hashrange.settings import Settings, SettingUnusable
from tests.unit.init.folders import USERS, make_folder

ENDING = " Nothing of the folder was applied; mend the file and try again."
MISSING = "the item has no attribute id, the partition key of its table."
COMPRESSED = gzip.compress(b'{"id": "ada"}\n' * 100, mtime=0)
DEEP = b'{"id": "a", "x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
PLAIN_DEEP = b'{"id": "a", "x": ' + b"[" * 40 + b"]" * 40 + b"}"


def refusal(folder: Path) -> str:
    settings = Settings(data_dir=None, init=str(folder))
    with pytest.raises(SettingUnusable) as caught:
        asyncio.run(open_service(settings, MovableClock(SystemClock())))
    return str(caught.value)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "it is empty. It must be a request of CreateTable, "),
        (" \n", "it is empty. It must be "),
        ("{", "it is no JSON at line 1, column 2."),
        ("TableName: Users", "it is no JSON at line 1, column 1."),
        ("7", "it holds no JSON object. It must be "),
        ("[7]", "request 1: it holds no JSON object. It must be "),
        ("{}", "it holds no request that can be applied. It must be "),
        ('{"Users": {}}', "it holds no request that can be applied. It must be "),
        (
            '{"id": 1}\n{"id": 2}\n',
            "it is no JSON at line 2, column 1. If each of its lines is an item, name it .jsonl.",
        ),
        (json.dumps(USERS).encode("utf-16"), "it is UTF-16; save it as UTF-8."),
        (b'{"TableName": "\xff", "KeySchema": []}', "CreateTable: SerializationException."),
        (b"[" * 100_000, "it is nested too deeply."),
        (
            {**USERS, "GlobalSecondaryIndexs": []},
            "CreateTable has no member GlobalSecondaryIndexs. Did you mean GlobalSecondaryIndexes?",
        ),
        (
            {**USERS, "\x1b[31mred\x9b": []},
            "CreateTable has no member \\x1b[31mred\\x9b; it has AttributeDefinitions, ",
        ),
        (
            {**USERS, "TableName": "\x1b[2J\u202e"},
            "CreateTable: ValidationException: 1 validation error detected: Value '\\x1b[2J\\u202e' at ",
        ),
        ({**USERS, "TableName": "x"}, "CreateTable: ValidationException: 1 validation error detected: Value "),
        ({**USERS, "TableName": "two\nlines"}, "CreateTable: ValidationException: "),
        ({**USERS, "KeySchema": "id"}, "CreateTable: SerializationException: Unexpected field type."),
        ({"Table": {"TableName": "T"}}, "CreateTable: ValidationException: "),
        (
            {"Table": {"GlobalSecondaryIndexes": [1], "KeySchema": 3}},
            "CreateTable: SerializationException: Unexpected field type.",
        ),
        ([USERS, {**USERS, "BillingMode": "PROVISIONED"}], "request 2: CreateTable: ValidationException: "),
        (
            {"TableName": "None", "TimeToLiveSpecification": {"Enabled": True, "AttributeName": "t"}},
            "UpdateTimeToLive: ResourceNotFoundException: ",
        ),
        ({"TableName": "None", "Item": {"id": {"S": "a"}}}, "PutItem: ResourceNotFoundException: "),
        ({"None": [{"PutRequest": {"Item": {"id": {"S": "a"}}}}]}, "BatchWriteItem: ResourceNotFoundException: "),
        (
            [USERS, {"Users": [{"PutRequest": {"Item": {"id": {"S": str(number)}}}} for number in range(26)]}],
            "request 2: BatchWriteItem: ValidationException: ",
        ),
        ([USERS, {"Users": [7]}], "request 2: BatchWriteItem: SerializationException: "),
        (
            b" " * (BODY_BYTES_MAX + 1),
            "it has more than 16,777,216 bytes. Put items into a .jsonl file, one in each line.",
        ),
    ],
)
def test_files_of_requests(tmp_path: Path, content: object, reason: str) -> None:
    folder = make_folder(tmp_path / "init", {"A.json": content})
    told = refusal(folder)
    assert told.startswith(f"the init file {folder / 'A.json'} cannot be applied: {reason}")
    assert told.endswith(ENDING)
    assert "\n" not in told


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"{}", MISSING),
        (b'{"Id": "a"}', MISSING),
        (b'{"Item": {"Id": {"S": "a"}}}', MISSING),
        (b"7", "it is no JSON object, which an item is."),
        (b'["a"]', "it is no JSON object, which an item is."),
        (b'{"id": "a"', "it is no JSON at line 1, column 11. Each line holds one whole item."),
        (b'{"id": "a"} {"id": "b"}', "it is no JSON at line 1, column 13. Each"),
        (b'{"id": "a", "x": NaN}', "it is no JSON. Each line"),
        (b'{"id": "a", "x": "\xff"}', "it is no JSON: "),
        (b'{"id": {"S": "a"}, "x": {"S": "\xff"}}', "PutItem: SerializationException."),
        (
            b'{"id": 7}',
            "PutItem: ValidationException: One or more parameter values were invalid: Type mismatch for key id",
        ),
        (b'{"id": null}', "PutItem: ValidationException: "),
        (b'{"id": {"S": "a"}, "x": 7}', "PutItem: SerializationException"),
        (b'{"id": {"S": "a"}, "x": {"N": "seven"}}', "PutItem: ValidationException: The parameter cannot be converted"),
        (b'{"id": "a", "x": 1e999}', "PutItem: ValidationException: Number overflow."),
        (b'{"id": ""}', "PutItem: ValidationException: "),
        (DEEP, "it is nested too deeply."),
        (PLAIN_DEEP, "PutItem: ValidationException: Nesting Levels have exceeded supported limits"),
        (b'{"id": "a", "x": "' + b"x" * 400 * 1024 + b'"}', "PutItem: ValidationException: Item size has exceeded"),
        (b'{"id": "' + b"x" * BODY_BYTES_MAX + b'"}', ""),
    ],
)
def test_lines(tmp_path: Path, line: bytes, reason: str) -> None:
    folder = make_folder(tmp_path / "init", {"A.json": USERS, "Users.jsonl": b'{"id": "first"}\n\n' + line})
    told = refusal(folder)
    place = f"line 3: {reason}" if reason else "line 3 has more than 16,777,216 bytes."
    assert told.startswith(f"the init file {folder / 'Users.jsonl'} cannot be applied: {place}")
    assert told.endswith(ENDING)
    assert "\n" not in told


def test_a_long_message_is_cut(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "init", {"A.json": {**USERS, "BillingMode": "x" * 5000}})
    assert len(refusal(folder)) < 1300 + len(str(folder))


def test_what_a_scan_has_printed(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "init", {"A.json": USERS, "B.json": {"Items": []}})
    assert "B.json cannot be applied: there is no table B in us-east-1. Files are applied in the order " in refusal(
        folder
    )
    make_folder(folder, {"B.json": {}, "Users.json": {"Items": [{"id": {"S": "a"}}, 7]}})
    (folder / "B.json").unlink()
    assert "Users.json cannot be applied: item 2: it is no JSON object, which an item is." in refusal(folder)
    make_folder(folder, {"Users.json": {"Items": 7}})
    assert "Users.json cannot be applied: it holds no request that can be applied." in refusal(folder)


@pytest.mark.parametrize(
    "content",
    [b"", b"{}", COMPRESSED[:-9], COMPRESSED[:5], COMPRESSED[:20] + b"\0\0\0\0" + COMPRESSED[24:]],
    ids=["empty", "plain", "without its end", "its head", "overwritten"],
)
def test_damaged_compressed_files(tmp_path: Path, content: bytes) -> None:
    folder = make_folder(tmp_path / "init", {"A.json": USERS, "Users.json.gz": content})
    if not content:
        asyncio.run(_open_and_close(folder))  # gzip reads nothing from nothing
        return
    assert refusal(folder).startswith(
        f"the init file {folder / 'Users.json.gz'} cannot be applied: it cannot be read: "
    )


async def _open_and_close(folder: Path) -> None:
    service = await open_service(Settings(data_dir=None, init=str(folder)), MovableClock(SystemClock()))
    await service.store.close()


@pytest.mark.parametrize("name", ["none", "A.json", "nul\0l"])
def test_no_folder(tmp_path: Path, name: str) -> None:
    make_folder(tmp_path, {"A.json": USERS})
    told = refusal(tmp_path / name)
    assert told.startswith(f"the init folder {str(tmp_path / name)!r} cannot be read: ")
    assert told.endswith(" Mend --init, or the folder.")


@pytest.mark.parametrize(
    "name", ["tables", "eu-west-1/us-east-1", "111122223333/444455556666", "eu-west-1/111122223333"]
)
def test_folders_that_are_no_place(tmp_path: Path, name: str) -> None:
    folder = make_folder(tmp_path / "init", {f"{name}/a.json": USERS})
    told = refusal(folder)
    assert f" has a folder {name.rpartition('/')[2]}, whose name is neither a Region, such as eu-west-1, nor" in told


def test_what_is_no_file(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "init", {})
    os.symlink(tmp_path / "none", folder / "A.json")
    assert "A.json cannot be applied: it is no file, or a link to one that does not exist." in refusal(folder)
    (folder / "A.json").unlink()
    if not hasattr(os, "mkfifo"):
        return
    os.mkfifo(folder / "a.jsonl")
    assert "a.jsonl cannot be applied: it is no file" in refusal(folder)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes")
def test_a_pipe_in_a_folder_of_the_cdk_is_not_opened(tmp_path: Path) -> None:
    """To open it would wait for whoever writes it, and the server with it."""
    folder = make_folder(tmp_path / "init", {})
    (folder / "cdk.out").mkdir()
    os.mkfifo(folder / "cdk.out" / "manifest.json")
    assert " has a folder cdk.out, whose name is neither a Region" in refusal(folder)
    (folder / "cdk.out" / "manifest.json").unlink()
    artifact = {"type": "aws:cloudformation:stack", "properties": {"templateFile": "Far.template.json"}}
    (folder / "cdk.out" / "manifest.json").write_text(json.dumps({"artifacts": {"Far": artifact}}), encoding="utf-8")
    os.mkfifo(folder / "cdk.out" / "Far.template.json")
    assert "Far.template.json: it is no file." in refusal(folder)


def test_a_name_that_is_no_text(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "init", {})
    try:
        (folder / os.fsdecode(b"\xff.json")).write_text("{}", encoding="utf-8")
    except OSError:
        return  # file systems whose names are always text
    assert f"the init folder {folder} has a file '\\udcff.json', whose name is not UTF-8." in refusal(folder)


def test_other_files_are_told_and_left_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = make_folder(tmp_path / "init", {"README.md": "# Tables", "a.JSON": "{", ".json": "{", "t.toml": "a = 1"})
    asyncio.run(_open_and_close(folder))
    assert [record.getMessage() for record in caplog.records] == [
        f"{folder / name} is not applied: {ENDINGS}." for name in ("README.md", "a.JSON", "t.toml")
    ]


def test_a_misspelt_table_is_told_with_the_one_that_was_meant(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "init", {"A.json": USERS, "Userz.jsonl": '{"id": "a"}'})
    assert "there is no table Userz in us-east-1. Did you mean Users?" in refusal(folder)
