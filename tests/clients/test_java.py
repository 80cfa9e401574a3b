"""The shop's story through the AWS SDK for Java v2: in memory, and on disk with a restart in the middle."""

import os
from pathlib import Path

import pytest

from tests.clients.programs import java
from tests.clients.serving import ServerProcess
from tests.clients.stories import HERE, ProgramShop, tell

FOLDER = HERE / "java"

pytestmark = pytest.mark.packaging


def java_shop(endpoint: str) -> ProgramShop:
    classes = os.pathsep.join(("target/classes", str(Path("target/lib/*"))))
    return ProgramShop([java(FOLDER), "-XX:TieredStopAtLevel=1", "-cp", classes, "shop.Main", endpoint], FOLDER)


def test_the_story_in_memory(server: ServerProcess) -> None:
    tell(java_shop(server.endpoint), restart=lambda: None)


def test_the_story_on_disk_with_a_restart(tmp_path: Path) -> None:
    server = ServerProcess(tmp_path / "data")
    try:
        tell(java_shop(server.endpoint), server.restart)
    finally:
        server.stop()
