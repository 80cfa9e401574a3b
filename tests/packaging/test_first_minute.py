"""README's first screen is true: its commands run in an empty folder, with a home without settings,
and show what the recording shows.
"""

import re
import shutil
import sys
from pathlib import Path

import pytest

from docs.record import CAST, PROGRAM, ROOT, Shown, first_commands, read_cast, run_first_minute, write_cast
from tests.support.quick_installs import offline_variables, quick_python

pytestmark = [pytest.mark.packaging, pytest.mark.skipif(sys.platform == "win32", reason="the commands are a shell's")]
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS_MAX = 3


def masked(shown: list[Shown]) -> list[str]:
    """The lines of a terminal, with one name for every port, and without what pip says about its own version."""
    text = "".join(one.text for one in shown)
    return [
        re.sub(r"(?<=127\.0\.0\.1:)\d+", "PORT", line)
        for line in text.splitlines()
        if line and not line.startswith("[notice]")
    ]


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> list[Shown]:
    """What the terminal of a new user shows."""
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    python = quick_python(tmp_path_factory.mktemp("programs"))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sys, "_base_executable", str(python))
        for name, value in offline_variables().items():
            patched.setenv(name, value)
        return list(run_first_minute(tmp_path_factory.mktemp("first"), port=0))


def test_three_commands_lead_to_an_answered_query(shown: list[Shown]) -> None:
    assert len(first_commands(README)) <= COMMANDS_MAX
    assert masked(shown)[-1] == "[{'name': 'Ada', 'pk': 'user-1', 'visits': Decimal('2')}]"
    print(f"\nThe first query was answered after {shown[-1].seconds:.1f} seconds.")


def test_the_recording_shows_what_happens(shown: list[Shown]) -> None:
    assert masked(read_cast(CAST.read_text(encoding="utf-8"))) == masked(shown), (
        "record it again: python docs/record.py"
    )


def test_the_recording_has_the_commands_of_the_readme() -> None:
    recorded = [one.text for one in read_cast(CAST.read_text(encoding="utf-8")) if one.text.startswith("$ ")]
    assert recorded == [f"$ {command}\n" for command in first_commands(README)]


def test_a_recording_is_read_as_it_was_written() -> None:
    events = [Shown(0.5, "$ ls\n"), Shown(1.25, "Ünï\n")]
    assert read_cast(write_cast(events)) == events


def test_the_readme_shows_the_program_that_is_run() -> None:
    _, _, code = (ROOT / PROGRAM).read_text(encoding="utf-8").partition('"""\n\n')
    assert f"```python\n{code}```\n" in README


def test_a_command_that_fails_ends_the_recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for command, reason in (("false", "false ended with the exit code 1"), ("exit 3", "has ended during exit 3")):
        monkeypatch.setattr("docs.record.first_commands", lambda readme, command=command: [command])
        folder = tmp_path / command[:4]
        folder.mkdir()
        with pytest.raises(RuntimeError, match=reason):
            list(run_first_minute(folder))
