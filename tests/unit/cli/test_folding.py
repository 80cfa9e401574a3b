"""What a person sees in a terminal: no line is longer than it, no word is cut, what is folded is indented;
files and pipes get whole lines.
"""

import json
import os
import re

import pytest
from _pytest.capture import CaptureIO

from hashrange.cli import output
from hashrange.cli.change_lines import change_line
from hashrange.cli.folding import HeadedLine, columns_taken, fold
from hashrange.cli.main import COMMANDS, DONE, main
from hashrange.cli.serve import announce
from hashrange.settings import Settings
from tests.unit.cli.doctor_visits import Doctor

COLOUR = re.compile(r"\x1b\[[0-9]*m")
HELPS = [["--help"], *([name, "--help"] for name in COMMANDS)]


class Terminal:
    """A terminal of as many columns as COLUMNS says."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def shown(self) -> str:
        """What has been written since the last call."""
        captured = self._capsys.readouterr()
        return captured.out + captured.err


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Terminal:
    monkeypatch.setattr(CaptureIO, "isatty", lambda _: True)
    for name in ("NO_COLOR", "WT_SESSION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "80")
    return Terminal(capsys)


def run_help(words: list[str]) -> None:
    try:
        assert main(words) == DONE
    except SystemExit as end:
        assert end.code == DONE


def commands_of(text: str) -> list[str]:
    """The lines of a help's example, without what only ends at its line a command that goes on."""
    example = text.partition("example:\n")[2].partition("\n\n")[0]
    return example.replace("\\\n", "").splitlines()


@pytest.mark.parametrize("words", HELPS, ids=" ".join)
def test_commands_of_examples_can_be_copied_from_a_terminal(words: list[str], terminal: Terminal) -> None:
    run_help(words)
    commands = commands_of(terminal.shown())
    assert commands
    for command in commands:
        assert re.match(r"  (hashrange|source) ", command), command


def words_of(text: str) -> list[str]:
    return text.split()


@pytest.mark.parametrize("columns", [60, 80, 200])
@pytest.mark.parametrize("words", HELPS, ids=" ".join)
def test_every_help_fits_and_cuts_no_word(
    words: list[str], columns: int, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "2000")
    run_help(words)
    whole = words_of(terminal.shown())
    assert whole
    monkeypatch.setenv("COLUMNS", str(columns))
    run_help(words)
    shown = terminal.shown()
    commands = re.findall(r"^  (?:hashrange|source) .*$", shown, re.MULTILINE)  # to be copied as they are
    longest = max((line for line in shown.split("\n") if line not in commands), key=columns_taken)
    assert columns_taken(longest) <= min(columns, 100), longest
    assert not [line for line in commands if columns_taken(line) > max(columns, 80)]
    assert words_of(shown) == whole


def test_the_regions_of_help_are_not_split_at_their_hyphens(terminal: Terminal) -> None:
    run_help(["tail", "--help"])
    assert "[us-east-1]" in terminal.shown()


def test_help_without_a_terminal_has_80_columns(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    run_help(["serve", "--help"])
    lines = capsys.readouterr().out.split("\n")
    assert 70 < max(map(len, lines)) <= 80


@pytest.mark.parametrize(
    ("text", "columns", "lines"),
    [
        ("one two three", 13, ["one two three"]),
        ("one two three", 12, ["one two", "  three"]),
        ("one two three", 5, ["one", "  two", "  three"]),
        ("  one two three", 9, ["  one two", "    three"]),
        ("hyphen-ated-word-s", 8, ["hyphen-ated-word-s"]),
        ("a hyphen-ated-word-s b", 8, ["a", "  hyphen-ated-word-s", "  b"]),
        ("two  blanks  stay", 12, ["two  blanks", "  stay"]),
        ("表表 表表 表", 9, ["表表 表表", "  表"]),
        ("e\u0301e\u0301 e\u0301e\u0301", 5, ["e\u0301e\u0301 e\u0301e\u0301"]),
        ("", 5, [""]),
    ],
)
def test_folding(text: str, columns: int, lines: list[str]) -> None:
    assert fold(text, columns) == lines


def test_sentences_fit_a_terminal_and_stay_whole_in_a_pipe(
    terminal: Terminal, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["server"]) != DONE
    folded = terminal.shown().rstrip("\n").split("\n")
    assert folded[0].startswith("hashrange: there is no command server.")
    assert len(folded) > 1
    assert all(line.startswith("  ") for line in folded[1:])
    assert max(map(len, folded)) <= 80
    monkeypatch.setattr(CaptureIO, "isatty", lambda _: False)
    assert main(["server"]) != DONE
    assert capsys.readouterr().err == " ".join(" ".join(folded).split()) + "\n"


RECORD = {
    "eventName": "MODIFY",
    "dynamodb": {
        "ApproximateCreationDateTime": 1_800_000_000,
        "StreamViewType": "NEW_AND_OLD_IMAGES",
        "Keys": {"pk": {"S": "user-1"}},
        "OldImage": {"text": {"S": "what it was before"}},
        "NewImage": {"text": {"S": "what it is from now on"}, "MODIFY": {"S": "a name like an event"}},
    },
}


def test_a_change_is_folded_below_its_key(terminal: Terminal) -> None:
    output.say(change_line(RECORD))
    shown = terminal.shown()
    assert COLOUR.sub("", shown) == (
        '2027-01-15 08:00:00  MODIFY  pk "user-1": text "what it was before" → "what it\n'
        '                             is from now on", + MODIFY "a name like an event"\n'
    )
    assert shown.startswith("2027-01-15 08:00:00  \x1b[33mMODIFY\x1b[0m  pk")


def test_in_a_narrow_terminal_folded_text_is_not_pressed_to_the_edge(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    output.say(change_line(RECORD))
    second = COLOUR.sub("", terminal.shown()).split("\n")[1]
    assert len(second) - len(second.lstrip()) == 4


@pytest.mark.parametrize("variables", [{"NO_COLOR": "1"}, {"TERM": "dumb"}, {"TERM": ""}])
def test_no_colours_where_they_are_not_wanted(
    variables: dict[str, str], terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    output.say(change_line(RECORD))
    shown = terminal.shown()
    assert "\x1b" not in shown
    assert max(map(len, shown.split("\n"))) <= 80, "lines are folded all the same"


def test_a_pipe_gets_one_line_for_a_record_without_colours(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    output.say(change_line(RECORD))
    assert capsys.readouterr().out.count("\n") == 1


def test_what_programs_read_is_never_folded(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    output.say_unfolded(json.dumps(RECORD))
    (line,) = terminal.shown().splitlines()
    assert json.loads(line) == RECORD


def test_a_head_cannot_paint_itself(terminal: Terminal) -> None:
    output.say(HeadedLine("ok \x1b[2J  ", "text \x1b[31m", "ok", "green"))
    assert terminal.shown() == "\x1b[32mok\x1b[0m \\x1b[2J  text \\x1b[31m\n"


def test_what_doctor_finds_fits(terminal: Terminal, doctor: Doctor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(doctor.home)
    for name, value in {
        "HOME": str(doctor.home),
        "HASHRANGE_PORT": "0",
        "AWS_ENDPOINT_URL_DYNAMODB": "http://127.0.0.1:1",
    }.items():
        monkeypatch.setenv(name, value)
    main(["doctor"])
    lines = COLOUR.sub("", terminal.shown()).split("\n")
    assert max(map(columns_taken, lines)) <= 80
    assert {line[:20].strip() == "" or re.match(r"(ok|note|hint|wrong) ", line) is not None for line in lines[:-3]} == {
        True
    }


def test_the_start_fits_and_its_first_line_has_the_endpoint(terminal: Terminal) -> None:
    announce(Settings(data_dir="/srv/" + "a-long-folder/" * 5), "http://127.0.0.1:8000")
    lines = terminal.shown().split("\n")
    assert lines[0] == "Hashrange serves DynamoDB at http://127.0.0.1:8000, data in"
    assert lines[-2] == "Set AWS_ENDPOINT_URL_DYNAMODB=http://127.0.0.1:8000 for SDKs and the AWS CLI."


@pytest.mark.skipif(os.name == "nt", reason="needs a pseudo-terminal")
def test_a_real_terminal_tells_its_width(monkeypatch: pytest.MonkeyPatch) -> None:
    import fcntl
    import pty
    import struct
    import termios

    from hashrange.cli.folding import columns_of

    monkeypatch.delenv("COLUMNS", raising=False)
    mine, theirs = pty.openpty()
    try:
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 93, 0, 0))
        with open(theirs, "w", encoding="utf-8", closefd=False) as stream:
            assert columns_of(stream) == 93
            fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 0, 0, 0, 0))
            assert columns_of(stream) == 80, "one that does not know its width"
            monkeypatch.setenv("COLUMNS", "120")
            assert columns_of(stream) == 120
            monkeypatch.setenv("COLUMNS", "many")
            assert columns_of(stream) == 80
    finally:
        os.close(mine)
        os.close(theirs)
    with open(os.devnull, "w", encoding="utf-8") as no_terminal:
        assert columns_of(no_terminal) is None
