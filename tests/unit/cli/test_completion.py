"""Completion: what bash offers for words that are typed, and that zsh and fish can read their scripts."""

import shutil
import subprocess
from pathlib import Path

import pytest

from hashrange.cli.completion import SHELLS
from hashrange.cli.main import COMMANDS, DONE, WRONG_USE, main
from hashrange.settings import options

NO_FILES = ("--sns-endpoint", "--otlp-endpoint", "--kinesis-endpoint", "--others", "--dax-advertise")
"""Flags of `hashrange serve` whose values are texts, but not names of files."""
Printed = pytest.CaptureFixture[str]


def script_of(shell: str, capsys: Printed) -> str:
    assert main(["completion", shell]) == DONE
    return capsys.readouterr().out


def offered(script: str, folder: Path, *words: str) -> list[str]:
    """What bash offers for the last of these words."""
    asked = " ".join(f"'{word}'" for word in ("hashrange", *words))
    program = (
        f"{script}\nCOMP_WORDS=({asked}) COMP_CWORD={len(words)}\n_hashrange\nprintf '%s\\n' \"${{COMPREPLY[@]}}\""
    )
    told = subprocess.run(["bash", "-c", program], cwd=folder, capture_output=True, text=True, check=True)
    assert told.stderr == ""
    return told.stdout.splitlines() if told.stdout.strip() else []


def test_bash(capsys: Printed, tmp_path: Path) -> None:
    script = script_of("bash", capsys)
    (tmp_path / "data-a").mkdir()
    (tmp_path / "data-b.toml").touch()
    assert set(offered(script, tmp_path, "")) == {*COMMANDS, "--help", "--version"}
    assert offered(script, tmp_path, "ser") == ["serve"]
    assert offered(script, tmp_path, "serve", "--log-level", "") == ["debug", "info", "warning", "error"]
    assert offered(script, tmp_path, "serve", "--data-dir", "data") == ["data-a"]
    assert sorted(offered(script, tmp_path, "serve", "--config", "data")) == ["data-a", "data-b.toml"]
    assert offered(script, tmp_path, "serve", "--port", "") == []
    assert [offered(script, tmp_path, "serve", flag, "") for flag in NO_FILES] == [[]] * len(NO_FILES)
    assert offered(script, tmp_path, "serve", "--no-in") == ["--no-in-memory"]
    assert set(offered(script, tmp_path, "serve", "--")) >= {option.flag for option in options()} | {"--config"}
    assert offered(script, tmp_path, "check", "d") == ["data-a"]
    assert offered(script, tmp_path, "check", "--h") == ["--help"]
    assert offered(script, tmp_path, "completion", "") == list(SHELLS)
    assert offered(script, tmp_path, "tail", "") != []
    assert offered(script, tmp_path, "toolkit", "") == ["export"]
    assert offered(script, tmp_path, "toolkit", "export", "d") == ["data-a"]
    assert offered(script, tmp_path, "toolkit", "export", "--force", "d") == ["data-a"]
    assert sorted(offered(script, tmp_path, "apply", "data")) == ["data-a", "data-b.toml"]
    assert offered(script, tmp_path, "design", "--encryption", "") == ["aws-owned", "aws-managed"]
    assert offered(script, tmp_path, "unknown", "") == []


def test_bash_with_unusual_words(capsys: Printed, tmp_path: Path) -> None:
    script = script_of("bash", capsys)
    (tmp_path / "my data").mkdir()
    assert offered(script, tmp_path, "serve", "--data-dir", "my") == ["my data"]
    assert offered(script, tmp_path, "serve", "--data-dir", "=", "m") == ["my data"]
    assert offered(script, tmp_path, "serve", "--log-level", "=") == ["debug", "info", "warning", "error"]
    assert offered(script, tmp_path, "serve", "--log-level", "=", "in") == ["info"]


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_can_read_their_scripts(shell: str, capsys: Printed, tmp_path: Path) -> None:
    script = script_of(shell, capsys)
    assert all(name in script for name in COMMANDS)
    path = tmp_path / "script"
    path.write_text(script, encoding="utf-8")
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    subprocess.run([shell, "-n", str(path)], check=True)


ZSH = """
compdef() { : }
compadd() { shift; print -l -- "$@" }
_files() { print -- files "$@" }
"""
"""Stand-ins for what zsh has only while it completes: they print what they are asked to offer."""


def test_zsh(capsys: Printed, tmp_path: Path) -> None:
    script = script_of("zsh", capsys)
    if shutil.which("zsh") is None:
        pytest.skip("zsh is not installed")

    def told(*words: str) -> list[str]:
        asked = " ".join(f"'{word}'" for word in ("hashrange", *words))
        program = f"{ZSH}{script}\nwords=({asked}) CURRENT={len(words) + 1}\n_hashrange"
        found = subprocess.run(["zsh", "-f", "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True)
        assert found.stderr == ""
        return found.stdout.splitlines()

    assert told("") == [*COMMANDS, "--help", "--version"]
    assert told("serve", "--log-level", "") == ["debug", "info", "warning", "error"]
    assert told("serve", "--data-dir", "") == ["files -/"]
    assert told("serve", "--config", "") == ["files"]
    assert told("completion", "") == list(SHELLS)
    assert told("toolkit", "") == ["export"]
    assert told("toolkit", "export", "") == ["files -/"]
    assert told("apply", "") == ["files"]
    assert "--data-dir" in told("serve", "--da")


def test_fish(capsys: Printed, tmp_path: Path) -> None:
    if shutil.which("fish") is None:
        pytest.skip("fish is not installed")
    path = tmp_path / "script"
    path.write_text(script_of("fish", capsys), encoding="utf-8")
    (tmp_path / "data-a").mkdir()

    def told(line: str) -> set[str]:
        command = ["fish", "--no-config", "-c", f"source {path}; complete -C '{line}'"]
        found = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
        return {one.partition("\t")[0] for one in found.splitlines()}

    assert told("hashrange ") >= set(COMMANDS)
    assert told("hashrange serve --log-level ") == {"debug", "info", "warning", "error"}
    assert told("hashrange completion ") == set(SHELLS)
    assert told("hashrange toolkit ") == {"export"}
    assert told("hashrange toolkit export ") == {"data-a/"}
    assert "--data-dir" in told("hashrange serve --da")


def test_a_shell_without_completion(capsys: Printed) -> None:
    assert main(["completion", "csh"]) == WRONG_USE
    assert capsys.readouterr().err == "hashrange: there is no completion for csh; there is one for bash, zsh, fish.\n"
