"""What every client's test needs: a server in memory."""

from collections.abc import Iterator

import pytest

from tests.clients.serving import ServerProcess


@pytest.fixture
def server() -> Iterator[ServerProcess]:
    """A server in memory, with nothing in it."""
    running = ServerProcess()
    yield running
    running.stop()
