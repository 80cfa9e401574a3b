"""A file system that is small, for tests of one that is full."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.crash.small_disks import FULL_MB


@pytest.fixture
def mount(tmp_path: Path) -> Iterator[Path]:
    """A file system of FULL_MB in memory."""
    place = tmp_path / "small"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={FULL_MB}m", "tmpfs", str(place)]
    if sys.platform != "linux" or os.geteuid() != 0 or subprocess.run(command, check=False).returncode:
        pytest.skip("needs the right to mount a file system")
    yield place
    subprocess.run(["umount", str(place)], check=True)
