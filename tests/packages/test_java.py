"""Do Java packages that keep locks in DynamoDB work by their quick starts?"""

import os
from pathlib import Path
from typing import Any

import pytest

from tests.clients.programs import java
from tests.clients.serving import ServerProcess
from tests.packages.quick_starts import HERE, outcome

OPTIONS = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")

pytestmark = pytest.mark.packaging


def run(server: ServerProcess, package: str, phase: str) -> Any:
    """What a package's program reports."""
    folder = HERE / package
    classes = os.pathsep.join(("target/classes", str(Path("target/lib/*"))))
    return outcome(server, folder, [java(folder), *OPTIONS, "-cp", classes, "quickstart.Main", phase])


def test_the_dynamodb_lock_client_locks(server: ServerProcess) -> None:
    assert run(server, "java_lock_client", "exclude") == {
        "first": True,
        "second": False,
        "other": True,
        "released": True,
        "locks": 2,
    }
    assert run(server, "java_lock_client", "crash") == {"acquired": True}
    server.restart()
    assert run(server, "java_lock_client", "recover") == {
        "owner": "crashed",
        "data": "half done",
        "atOnce": False,
        "newOwner": "second",
    }


def test_shedlock_runs_a_task_at_most_once_at_a_time(server: ServerProcess) -> None:
    assert run(server, "shedlock", "first") == ["report", "skipped", "report", "hourly"]
    server.restart()
    assert run(server, "shedlock", "second") == ["report", "expired"]
