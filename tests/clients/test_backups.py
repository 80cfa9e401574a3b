"""Backups, recovery, an export, imports, a bulk put and S3, in Python, JavaScript, Java and on the command line: each
against one server with a folder of S3, and all hear the same.
"""

from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest

from tests.clients.boto3_backups import Backups
from tests.clients.command_line import CommandLine
from tests.clients.command_line_backups import CommandLineBackups
from tests.clients.conftest import Lend
from tests.clients.programs import heard, node
from tests.clients.serving import ServerProcess
from tests.clients.stories import HERE
from tests.clients.test_java import FOLDER as JAVA
from tests.clients.test_java import java_program

FIRST: list[dict[str, Any]] = [
    {"id": "a", "n": 1, "note": "Zürich ☕", "tags": ["x", "y"]},
    {"id": "b", "n": 2, "data": "AP8="},
    {"id": "c", "n": 3},
]
SECOND = [FIRST[0] | {"n": 10}, FIRST[2], {"id": "d", "n": 4}]
THIRD = [SECOND[0], {"id": "d", "n": 4}, {"id": "e", "n": 5}]
EXPECTED: dict[str, Any] = {
    "backup": {
        "status": "AVAILABLE",
        "listed": [["before", "USER"]],
        "isSource": True,
        "items": FIRST,
        "deleted": "DELETED",
        "refused": "BackupNotFoundException",
    },
    "recovery": {"window": ["ENABLED", 7], "items": SECOND, "refused": "InvalidRestoreTimeException"},
    "exported": {
        "status": "COMPLETED",
        "count": 3,
        "summed": 3,
        "ids": ["a", "d", "e"],
        "isSound": True,
        "listed": ["COMPLETED"],
    },
    "imported": {
        "status": "COMPLETED",
        "counts": [3, 3, 0],
        "items": THIRD,
        "failed": "S3NoSuchBucket",
        "listed": ["COMPLETED", "FAILED"],
    },
    "bulk": {
        "status": "COMPLETED_WITH_ERRORS",
        "counts": [3, 1],
        "reported": {"error": 3, "condition-check-failure": 2},
        "items": [*THIRD, {"id": "f", "n": 6}],
    },
    "objects": {
        "told": [True, "GLACIER", "application/json", "stream", "{}"],
        "keys": ["archive/2", "archive/in/3", "archive/ü 1+.json"],
        "folders": [["archive/in/"], [3, 2]],
        "uploaded": [5_243_880, 2, "0123456789", True],
        "presigned": "two",
        "deleted": ["NoSuchKey", "NoSuchBucket"],
    },
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of S3, which a reset of the server leaves as it is."""
    return tmp_path_factory.mktemp("s3")


@pytest.fixture
def standing(lend: Lend, folder: Path) -> ServerProcess:
    """A server with that folder, whose service time stands still."""
    server = lend("--s3-folder", str(folder))
    with urlopen(Request(f"{server.endpoint}/_hashrange/v1/clock/freeze", b"{}", method="POST")):
        return server


def test_boto3(standing: ServerProcess) -> None:
    application = Backups(standing.endpoint, "of-boto3")
    try:
        assert application.heard() == EXPECTED
    finally:
        application.end()


@pytest.mark.packaging
def test_javascript(standing: ServerProcess) -> None:
    folder = HERE / "javascript"
    told = heard([node(folder), "--no-warnings", "backups.mjs", standing.endpoint, "of-javascript"], folder)
    assert told == EXPECTED


@pytest.mark.packaging
def test_java(standing: ServerProcess) -> None:
    told = heard([*java_program("shop.Backups"), standing.endpoint, "of-java"], JAVA)
    refused = {"deleted": ["NoSuchKeyException", "NoSuchBucketException"]}
    assert told == EXPECTED | {"objects": EXPECTED["objects"] | refused}


@pytest.mark.packaging
def test_the_command_line(standing: ServerProcess, tmp_path: Path) -> None:
    with CommandLine(standing.endpoint) as command_line:
        told = CommandLineBackups(command_line, "of-cli", tmp_path).heard()
    objects = told.pop("objects")
    assert told == {name: EXPECTED[name] for name in EXPECTED if name not in {"bulk", "objects"}}
    assert objects == {
        "synced": [3, [], ["delete"]],
        "class": "GLACIER",
        "isWhole": True,
        "back": ["long", "ü 1+.txt"],
        "presigned": "one",
        "warned": True,
        "moved": "one",
        "listed": [["8389608", "long"], ["3", "ü", "1+.txt"]],
        "removed": 2,
        "missing": "404",
        "left": ["                           PRE nightly/"],
        "buckets": ["of-cli"],
        "refused": "BucketNotEmpty",
        "forced": "remove_bucket: of-cli",
    }
