"""When do the packages' quick starts run, and against which server?
In `make soak`, each against an empty server of its own.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.serving import ServerProcess

IS_SOAK = int(os.environ.get("HASHRANGE_SOAK", "0")) >= 1000

collect_ignore_glob = [] if IS_SOAK else ["test_*.py"]
"""The packages bring hundreds of megabytes of libraries, which `make test` need not fetch."""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServerProcess]:
    """An empty server on disk, which can be restarted and whose clock can be advanced."""
    running = ServerProcess(tmp_path / "data", "--admin")
    yield running
    running.stop()
