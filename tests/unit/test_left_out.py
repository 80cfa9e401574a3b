"""A run on a machine without some program ends well, and says in one line what it left out."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("words", ["-n 1", "-n 0"])
def test_a_run_without_programs_says_what_it_left_out(words: str, tmp_path: Path) -> None:
    files = ["tests/clients/test_go.py", "tests/unit/functions/test_node_runtime.py", "tests/unit/test_clock.py"]
    own_folder = f"--basetemp={tmp_path / 'inner'}"
    command = [sys.executable, "-m", "pytest", "-p", "no:hypothesispytest", own_folder, *words.split(), *files]
    environment = {name: value for name, value in os.environ.items() if name != "HASHRANGE_CI"} | {
        "PATH": str(tmp_path)
    }
    done = subprocess.run(command, cwd=ROOT, env=environment, text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("Left out: ")]
    assert "go is not installed (" in line
    assert "node is not installed (" in line
