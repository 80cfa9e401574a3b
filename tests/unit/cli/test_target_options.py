"""What changes something says where first, and asks at AWS."""

import io
import sys
from collections.abc import Callable

import pytest

from hashrange.cli.parsing import command_parser, parse
from hashrange.cli.target_options import add_target, agree, chosen_target
from hashrange.toolkit.failures import ToolkitFailure, UsageFault
from hashrange.toolkit.target import Target

Chosen = Callable[..., Target]


@pytest.fixture
def chosen(monkeypatch: pytest.MonkeyPatch) -> Chosen:
    """The target of a command line; its account is made up, so that nothing is sent."""
    monkeypatch.setattr(Target, "account", lambda self: "123456789012")

    def find(*words: str) -> Target:
        parser = command_parser("design", "Designs.", "example:")
        add_target(parser, is_changing=True)
        return chosen_target(parse(parser, words))

    return find


def answer(monkeypatch: pytest.MonkeyPatch, text: str, *, is_terminal: bool = True) -> None:
    """Let standard input be a terminal in which somebody types."""
    typed = io.StringIO(text)
    monkeypatch.setattr(typed, "isatty", lambda: is_terminal)
    monkeypatch.setattr(sys, "stdin", typed)


def test_a_server_is_changed_without_asking(chosen: Chosen, capsys: pytest.CaptureFixture[str]) -> None:
    agree(chosen("--endpoint", "http://db:1"), "create the table Orders", is_agreed=False)
    shown = "Create the table Orders: account 123456789012, Region us-east-1, endpoint http://db:1.\n"
    assert capsys.readouterr().err == shown


@pytest.mark.parametrize(("typed", "is_agreed"), [("yes\n", False), ("Y\n", False), ("", True)])
def test_aws_is_changed_after_yes(
    typed: str, is_agreed: bool, chosen: Chosen, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answer(monkeypatch, typed)
    agree(chosen("--aws", "--region", "eu-west-1"), "create the table Orders", is_agreed=is_agreed)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].endswith("Region eu-west-1, endpoint https://dynamodb.eu-west-1.amazonaws.com.")
    assert len(lines) == (1 if is_agreed else 2)


@pytest.mark.parametrize("typed", ["no\n", "\n", ""])
def test_any_other_answer_changes_nothing(typed: str, chosen: Chosen, monkeypatch: pytest.MonkeyPatch) -> None:
    answer(monkeypatch, typed)
    with pytest.raises(ToolkitFailure, match="nothing has been changed"):
        agree(chosen("--aws", "--region", "eu-west-1"), "create the table Orders", is_agreed=False)


def test_where_nobody_can_be_asked_aws_needs_yes(chosen: Chosen, monkeypatch: pytest.MonkeyPatch) -> None:
    answer(monkeypatch, "yes\n", is_terminal=False)
    with pytest.raises(UsageFault, match=r"nobody can be asked here\. Say --yes"):
        agree(chosen("--aws", "--region", "eu-west-1"), "create the table Orders", is_agreed=False)
