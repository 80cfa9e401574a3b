"""What users see of each command: help, messages and exit codes."""

import asyncio
import io
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hashrange import __version__
from hashrange.cli.main import COMMANDS, DONE, FAILED, UNREAD, WRONG_USE, main
from hashrange.cli.serve import announce
from hashrange.settings import Settings
from hashrange.store.embedded.opening import open_store
from tests.support.clocks import VirtualClock

Printed = pytest.CaptureFixture[str]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(command: str, capsys: Printed) -> None:
    with pytest.raises(SystemExit) as ended:
        main([command, "--help"])
    text = capsys.readouterr().out
    assert ended.value.code == 0
    assert f"example:\n  hashrange {command}" in text


@pytest.mark.parametrize("words", [["--help"], ["-h"], ["help"]])
def test_help_lists_the_commands(words: list[str], capsys: Printed) -> None:
    assert main(words) == DONE
    text = capsys.readouterr().out
    assert all(f"  {command} " in text for command in COMMANDS)


def test_no_command_is_wrong_use_and_shows_the_help(capsys: Printed) -> None:
    assert main([]) == WRONG_USE
    assert "usage: hashrange COMMAND" in capsys.readouterr().err


def test_an_unknown_command_names_those_that_exist(capsys: Printed) -> None:
    assert main(["server"]) == WRONG_USE
    assert capsys.readouterr().err == (
        "hashrange: there is no command server. Did you mean serve? The commands are serve, cluster, check, inspect,"
        " tail, snapshot, backup, restore, unarchive, dax, design, apply, model, capacity, diagnose, scan, load, copy,"
        " toolkit, mcp, doctor, completion, version.\n"
    )


@pytest.mark.parametrize("words", [["version"], ["--version"], ["-V"], ["serve", "--version"], ["check", "--version"]])
def test_version_names_what_is_running(words: list[str], capsys: Printed) -> None:
    assert main(words) == DONE
    text = capsys.readouterr().out
    assert text.startswith(f"hashrange {__version__} (Python ")
    assert "rocksdict " in text


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["serve", "--port", "web"], '--port is "web"'),
        (["-port", "web"], '--port is "web"'),
        (["-inMemory", "-database", "x"], "-database is no flag of DynamoDB Local"),
        (["serve", "--prot", "1"], "`hashrange serve` does not know --prot. Did you mean --port?"),
        (["--verison"], "`hashrange serve` does not know --verison. Did you mean --version?"),
        (["check", "--colour=1", "x"], "`hashrange check` does not know --colour. `hashrange check --help` lists what"),
        (["serve", "--port"], "--port needs a value behind it: --port N."),
        (["serve", "--port", "--in-memory"], "--port needs a value behind it: --port N."),
        (["serve", "--config"], "--config needs a value behind it: --config FILE."),
        (["serve", "--log-level"], "--log-level needs a value behind it: --log-level debug|info|warning|error."),
        (["serve", "--in-memory=yes"], "--in-memory takes no value: it stands alone; --no-in-memory turns it off."),
        (["serve", "--access-log=1"], "--access-log takes no value: it stands alone; --no-access-log turns it off."),
        (["serve", "--help=1"], "--help takes no value: it stands alone."),
        (["check"], "`hashrange check` needs DIR; `hashrange check --help` tells more."),
        (["inspect"], "`hashrange inspect` needs DIR; `hashrange inspect --help` tells more."),
        (["inspect", "--table"], "--table needs a value behind it: --table NAME."),
        (
            ["unarchive", "old"],
            "`hashrange unarchive` needs BUCKET and TABLE; `hashrange unarchive --help` tells more.",
        ),
        (["tail"], "`hashrange tail` needs TABLE; `hashrange tail --help` tells more."),
        (["tail", "--endpoint"], "--endpoint needs a value behind it: --endpoint URL."),
        (["tail", "Users", "--endpoint", "localhost:8000"], '--endpoint is "localhost:8000"; it must be a URL'),
        (["tail", "Users", "--endpoint", "http://[::1"], '--endpoint is "http://[::1"; it must be a URL'),
        (["tail", "Users", "--endpoint", "http://a/b"], '--endpoint is "http://a/b"; it must be a URL'),
        (["tail", "Users", "--once=1"], "--once takes no value: it stands alone."),
        (["tail", "Users", "--follow"], "`hashrange tail` does not know --follow."),
        (["serve", "--config", ""], '--config is ""; it must be the name of a TOML file.'),
        (["serve", "--config", "no.toml"], "the settings file no.toml cannot be read"),
    ],
)
def test_wrong_settings_stop_the_start(words: list[str], sentence: str, capsys: Printed) -> None:
    assert main(words) == WRONG_USE
    error = capsys.readouterr().err
    assert error.startswith(f"hashrange: {sentence}")
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("settings", "endpoint", "shown"),
    [
        (Settings(), "http://127.0.0.1:8000", "http://127.0.0.1:8000, data in ./hashrange-data."),
        (Settings(data_dir=None), "http://127.0.0.1:8001", "http://127.0.0.1:8001, in memory."),
    ],
)
def test_two_short_lines_tell_where_and_how(settings: Settings, endpoint: str, shown: str, capsys: Printed) -> None:
    announce(settings, endpoint)
    where, how = capsys.readouterr().out.splitlines()
    assert where == f"Hashrange serves DynamoDB at {shown}"
    url = shown.partition(",")[0]
    assert how == f"Set AWS_ENDPOINT_URL_DYNAMODB={url} for SDKs and the AWS CLI."
    assert max(len(where), len(how)) <= 80


def test_the_first_line_also_tells_where_dax_is(capsys: Printed) -> None:
    announce(Settings(data_dir=None, functions=True), "http://127.0.0.1:8000", "dax://127.0.0.1:8111")
    where, _, warning = capsys.readouterr().out.splitlines()
    assert where == "Hashrange serves DynamoDB at http://127.0.0.1:8000, in memory, and DAX at dax://127.0.0.1:8111."
    assert warning.startswith("Functions are on: whoever reaches this port can run code")


@pytest.fixture
def empty_store(tmp_path: Path) -> str:
    """A folder that a server has opened and closed."""
    loop = asyncio.new_event_loop()
    store = open_store(str(tmp_path / "data"), VirtualClock(), loop)
    loop.run_until_complete(store.close())
    loop.close()
    return str(tmp_path / "data")


def test_check_and_inspect_of_an_empty_store(empty_store: str, capsys: Printed) -> None:
    assert main(["check", empty_store]) == DONE
    assert capsys.readouterr().out == f"{empty_store} is sound: 0 tables, 0 rows.\n"
    assert main(["inspect", empty_store]) == DONE
    assert capsys.readouterr().out.startswith(f"{empty_store}: format 16, 0 tables, ")


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (["--table", "Users"], FAILED, "has no table Users"),
        (["--key", "{}"], WRONG_USE, "--key needs --table"),
        (["--table", "Users", "--key", "{"], WRONG_USE, "--key is no key: "),
        (["--table", "Users", "--key", '{"pk": {"S": 1}}'], WRONG_USE, "--key is no key: "),
        (["--table", "Users", "--key", '{"pk": {"S": "a"}}'], FAILED, "has no table Users"),
    ],
)
def test_inspect_refuses_in_one_sentence(
    words: list[str], code: int, sentence: str, empty_store: str, capsys: Printed
) -> None:
    assert main(["inspect", empty_store, *words]) == code
    assert sentence in capsys.readouterr().err


@pytest.mark.parametrize("command", ["check", "inspect"])
def test_a_folder_without_data_is_refused(command: str, tmp_path: Path, capsys: Printed) -> None:
    assert main([command, str(tmp_path)]) == WRONG_USE
    assert "holds no Hashrange data" in capsys.readouterr().err


def test_a_wrong_thing_that_a_setting_names_is_a_wrong_setting(tmp_path: Path, capsys: Printed) -> None:
    (tmp_path / "file").write_text("mine", encoding="utf-8")
    for words in (
        ["--data-dir", str(tmp_path / "file")],
        ["--data-dir", str(tmp_path)],
        ["--in-memory", "--credentials", str(tmp_path / "file")],
        ["--in-memory", "--credentials", str(tmp_path / "none")],
        ["--in-memory", "--tls-cert", str(tmp_path / "file"), "--tls-key", str(tmp_path / "file")],
    ):
        assert main(["serve", "--port", "0", *words]) == WRONG_USE
        assert capsys.readouterr().err.count("\n") == 1


def output_of(words: list[str], output: Any, folder: Path) -> tuple[int, str]:
    """Run the command with `output` as its standard output; return its exit code and its standard error."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "hashrange", *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=output,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        timeout=60,
    )
    return done.returncode, done.stderr


WRITERS = [["version"], ["help"], ["check", "--help"], ["check", "data"], ["inspect", "data"]]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("words", [*WRITERS, ["serve", "--port", "0", "--in-memory"]], ids=" ".join)
def test_output_that_cannot_be_written_is_one_sentence(words: list[str], empty_store: str) -> None:
    with open("/dev/full", "w", encoding="utf-8") as full:
        assert output_of(words, full, Path(empty_store).parent) == (
            FAILED,
            "hashrange: standard output cannot be written: No space left on device. Mend where it is directed to.\n",
        )


@pytest.mark.skipif(os.name == "nt", reason="pipes end otherwise there")
@pytest.mark.parametrize("words", WRITERS, ids=" ".join)
def test_output_that_nobody_reads_ends_the_command_quietly(words: list[str], empty_store: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        assert output_of(words, writer, Path(empty_store).parent) == (UNREAD, "")
    finally:
        os.close(writer)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_the_exit_code_holds_where_the_sentence_cannot_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    with io.TextIOWrapper(open("/dev/full", "wb"), line_buffering=True) as errors:
        monkeypatch.setattr("sys.stderr", errors)
        assert main(["check", "--colour"]) == WRONG_USE
        assert errors.closed, "nothing is left to be written at the end"
        monkeypatch.undo()
