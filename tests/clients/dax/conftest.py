"""A server with a DAX cluster, and how the programs that talk to it are run."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.serving import ServerProcess

JAVA_OPTIONS = (
    "-Dorg.apache.commons.logging.Log=org.apache.commons.logging.impl.NoOpLog",
    "-XX:TieredStopAtLevel=1",
    "-cp",
    os.pathsep.join(("target/classes", str(Path("target/lib/*")))),
)
"""The client for Java reports at every start what it has connected to, by commons-logging."""


@pytest.fixture
def cluster() -> Iterator[ServerProcess]:
    """A server in memory with a DAX cluster."""
    running = ServerProcess(None, "--dax-port", "0", "--admin")
    yield running
    running.stop()
