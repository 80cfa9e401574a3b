"""A server with a DAX cluster, and how the programs that talk to it are run."""

import os
from pathlib import Path

import pytest

from tests.clients.conftest import Lend
from tests.clients.serving import ServerProcess

JAVA_OPTIONS = (
    "-Dorg.apache.commons.logging.Log=org.apache.commons.logging.impl.NoOpLog",
    "-XX:TieredStopAtLevel=1",
    "-cp",
    os.pathsep.join(("target/classes", str(Path("target/lib/*")))),
)
"""The client for Java reports at every start what it has connected to, by commons-logging."""


@pytest.fixture
def cluster(lend: Lend) -> ServerProcess:
    """A server in memory with a DAX cluster."""
    return lend("--dax-port", "0")
