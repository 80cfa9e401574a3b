"""The shop's story through the AWS SDK for JavaScript v3: in memory, and on disk with a restart in the middle."""

from pathlib import Path

import pytest

from tests.clients.programs import node
from tests.clients.serving import ServerProcess
from tests.clients.stories import HERE, ProgramShop, tell

FOLDER = HERE / "javascript"

pytestmark = pytest.mark.packaging


def test_the_story_in_memory(server: ServerProcess) -> None:
    tell(ProgramShop([node(FOLDER), "--no-warnings", "main.mjs", server.endpoint], FOLDER), restart=lambda: None)


def test_the_story_on_disk_with_a_restart(tmp_path: Path) -> None:
    path = node(FOLDER)
    server = ServerProcess(tmp_path / "data")
    try:
        tell(ProgramShop([path, "--no-warnings", "main.mjs", server.endpoint], FOLDER), server.restart)
    finally:
        server.stop()
