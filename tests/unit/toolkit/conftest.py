"""What do tests of the toolkit share? A server in memory, and an environment without anything of AWS."""

import os
import socket
from collections.abc import Iterator

import pytest

from hashrange.settings import Settings
from hashrange.testing import server


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    with server(Settings(data_dir=None, port=0)) as database:
        yield database.endpoint


@pytest.fixture(autouse=True)
def no_aws(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """No variable and no file of the machine names an endpoint, a Region or keys."""
    for name in os.environ:
        if name.startswith("AWS_"):
            monkeypatch.delenv(name)
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path_factory.getbasetemp() / "missing"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


@pytest.fixture
def unused_endpoint() -> str:
    """An endpoint at which nobody listens."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{listening.getsockname()[1]}"
