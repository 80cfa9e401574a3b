"""The AWS SDK for Java v2: the shop's story, in memory and on disk with a restart in the middle,
and a function with its mapping.
"""

import json
import os
import sys
import zipfile
from pathlib import Path

import pytest

from tests.clients.programs import heard, java
from tests.clients.serving import ServerProcess
from tests.clients.stories import HERE, ProgramShop, tell

FOLDER = HERE / "java"

pytestmark = pytest.mark.packaging


def java_program(name: str) -> list[str]:
    """The words that run a program of the project."""
    classes = os.pathsep.join(("target/classes", str(Path("target/lib/*"))))
    return [java(FOLDER), "-XX:TieredStopAtLevel=1", "-cp", classes, name]


def java_shop(endpoint: str) -> ProgramShop:
    return ProgramShop([*java_program("shop.Main"), endpoint], FOLDER)


def test_the_story_in_memory(server: ServerProcess) -> None:
    tell(java_shop(server.endpoint), restart=lambda: None)


def test_the_story_on_disk_with_a_restart(tmp_path: Path) -> None:
    server = ServerProcess(tmp_path / "data")
    try:
        tell(java_shop(server.endpoint), server.restart)
    finally:
        server.stop()


def test_a_function_and_an_event_source_mapping(tmp_path: Path) -> None:
    zipped = tmp_path / "app.zip"
    with zipfile.ZipFile(zipped, "w") as archive:
        archive.writestr("app.py", 'def handler(event, context):\n    return len(event["Records"])\n')
    server = ServerProcess(None, "--functions", log=tmp_path / "log")
    try:
        runtime = f"python3.{sys.version_info.minor}"
        told = heard([*java_program("shop.Functions"), server.endpoint, str(zipped), runtime], FOLDER)
    finally:
        server.stop()
    arn = "arn:aws:lambda:eu-west-1:000000000000:function:count-records"
    result, failure = told.pop("invoked")
    assert result == [200, "", "$LATEST", "2"]
    assert failure[:3] == [200, "Unhandled", "$LATEST"]
    assert json.loads(failure[3])["errorType"] == "KeyError"
    assert told == {
        "created": {
            "arn": arn,
            "states": ["Pending", "Active"],
            "variables": {"STAGE": "test"},
            "tags": {"team": "events"},
        },
        "mapped": ["Creating", "No records processed", "Enabled", "Deleting"],
        "deleted": ["ResourceNotFoundException", f"Function not found: {arn}"],
    }
