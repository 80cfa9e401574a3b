"""What every client's test needs: a server in memory."""

from collections.abc import Callable, Iterator

import pytest

from tests.clients.serving import ServerProcess

Lend = Callable[..., ServerProcess]


@pytest.fixture(scope="session")
def lend(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lend]:
    """A function that returns a server in memory, with these options and nothing in it.

    Servers are emptied and lent again, because a start takes most of a second. Whoever borrows one has it until the
    next one borrows, and starts no other work on it.
    """
    folder = tmp_path_factory.mktemp("servers")
    servers: dict[tuple[str, ...], ServerProcess] = {}

    def lend_server(*options: str) -> ServerProcess:
        if options in servers:
            servers[options].reset()
        else:
            servers[options] = ServerProcess(None, "--admin", *options, log=folder / f"{len(servers)}.log")
        return servers[options]

    yield lend_server
    for server in servers.values():
        server.stop()


@pytest.fixture
def server(lend: Lend) -> Iterator[ServerProcess]:
    """A server in memory, with nothing in it."""
    running = lend()
    yield running
    assert not running.problems()
