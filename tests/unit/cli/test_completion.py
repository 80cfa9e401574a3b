"""Completion: what bash offers for words that are typed, and that zsh and fish can read their scripts."""

import shutil
import subprocess
from pathlib import Path

import pytest

from hashrange.cli.completion import SHELLS
from hashrange.cli.main import COMMANDS, DONE, WRONG_USE, main
from hashrange.settings import options

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
    return told.stdout.split()


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
    assert offered(script, tmp_path, "serve", "--no-in") == ["--no-in-memory"]
    assert set(offered(script, tmp_path, "serve", "--")) >= {option.flag for option in options()} | {"--config"}
    assert offered(script, tmp_path, "check", "d") == ["data-a"]
    assert offered(script, tmp_path, "check", "--h") == ["--help"]
    assert offered(script, tmp_path, "completion", "") == list(SHELLS)
    assert offered(script, tmp_path, "tail", "") != []
    assert offered(script, tmp_path, "unknown", "") == []


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_can_read_their_scripts(shell: str, capsys: Printed, tmp_path: Path) -> None:
    script = script_of(shell, capsys)
    assert all(name in script for name in COMMANDS)
    path = tmp_path / "script"
    path.write_text(script, encoding="utf-8")
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    subprocess.run([shell, "-n", str(path)], check=True)
    told = subprocess.run([shell, "-c", "echo $argv", "-n"], capture_output=True, text=True, check=False)
    assert told.returncode == 0


def test_fish(capsys: Printed, tmp_path: Path) -> None:
    if shutil.which("fish") is None:
        pytest.skip("fish is not installed")
    path = tmp_path / "script"
    path.write_text(script_of("fish", capsys), encoding="utf-8")

    def told(line: str) -> set[str]:
        command = ["fish", "--no-config", "-c", f"source {path}; complete -C '{line}'"]
        found = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
        return {one.partition("\t")[0] for one in found.splitlines()}

    assert told("hashrange ") >= set(COMMANDS)
    assert told("hashrange serve --log-level ") == {"debug", "info", "warning", "error"}
    assert told("hashrange completion ") == set(SHELLS)
    assert "--data-dir" in told("hashrange serve --da")


def test_a_shell_without_completion(capsys: Printed) -> None:
    assert main(["completion", "csh"]) == WRONG_USE
    assert capsys.readouterr().err == "hashrange: there is no completion for csh; there is one for bash, zsh, fish.\n"
