"""What do tests of commands share? The restored thresholds of the garbage collector, an environment without variables
of AWS, and what `hashrange doctor` looks at.
"""

import gc
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from hashrange.settings import Settings
from hashrange.testing import server
from tests.unit.cli.doctor_visits import Doctor


@pytest.fixture(autouse=True)
def collector() -> Iterator[None]:
    """Restore the collector's thresholds: a command raises them for the rest of its process."""
    thresholds = gc.get_threshold()
    yield
    gc.set_threshold(*thresholds)


@pytest.fixture
def doctor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Doctor:
    return Doctor(tmp_path, monkeypatch)


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    with server(Settings(data_dir=None, port=0)) as database:
        yield database.endpoint


@pytest.fixture
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """No variable says where commands of the toolkit work, or by which keys."""
    for name in os.environ:
        if name.startswith("AWS_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


@pytest.fixture
def free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])
