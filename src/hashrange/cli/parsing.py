"""How is a command's line parsed? By `parse`, with a `CommandParser` for each command;
the first fault is reported in one sentence.
"""

import argparse
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from hashrange.cli.folding import fold, fold_prose, prose_columns
from hashrange.cli.output import lines_of, say
from hashrange.errors import HashrangeError
from hashrange.written.names import did_you_mean


class UsageError(HashrangeError):
    """The command line or a setting is wrong. The message says what is wrong and, in most cases, gives a remedy."""


class HelpLayout(argparse.HelpFormatter):
    """argparse's layout of a help, of lines that fit the terminal and cut no word."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=prose_columns(sys.stdout))

    def lines_of_help(self, text: str, width: int) -> list[str]:
        """The lines of an option's help. argparse itself would also split words at hyphens."""
        return fold(" ".join(text.split()), width, 0)

    def paragraphs(self, text: str, width: int, indent: str) -> str:
        """The lines of the description, and of the text at the end."""
        return "\n".join(fold_prose(text, width))

    _split_lines, _fill_text = lines_of_help, paragraphs  # the names by which argparse calls them


class CommandParser(argparse.ArgumentParser):
    """argparse's parser; with `parse`, faults are raised as UsageError."""

    color: bool

    def print_help(self, file: Any = None) -> None:
        """Print the help to standard output. Raises OutputError, where argparse itself would ignore the failure."""
        assert file is None
        say(*lines_of(self.format_help()))

    def error(self, message: str) -> NoReturn:
        """Raise UsageError for a fault that argparse finds in the whole line: a missing argument."""
        missing = [action.metavar for action in self._actions if action.required]
        raise UsageError(
            f"`{self.prog}` needs {' and '.join(map(str, missing)) or message}; `{self.prog} --help` tells more."
        )

    def refuse(self, argument: str | None, message: str, words: Sequence[str]) -> NoReturn:
        """Raise UsageError for a missing or surplus value. `argument`: all flags of the option, joined by slashes; None
        for a fault of the whole line, which `error` reports. `words`: the command line.
        """
        action = next((each for each in self._actions if "/".join(each.option_strings) == argument), None)
        if action is None:
            self.error(message)
        typed = {word.partition("=")[0] for word in words}
        flags = [each for each in action.option_strings if each.startswith("--")] or action.option_strings
        flag = next((each for each in flags if each in typed), flags[0])
        if action.nargs != 0:
            raise UsageError(f"{flag} needs a value behind it: {flag} {action.metavar}.")
        negative = f"; {flags[1]} turns it off" if isinstance(action, argparse.BooleanOptionalAction) else ""
        raise UsageError(f"{flag} takes no value: it stands alone{negative}.")


def command_parser(name: str, description: str, example: str) -> CommandParser:
    """A parser for `hashrange NAME`, still without arguments."""
    parser = CommandParser(
        prog=f"hashrange {name}",
        description=description,
        epilog=example,
        formatter_class=HelpLayout,
        allow_abbrev=False,
        exit_on_error=False,
    )
    parser.color = False  # from Python 3.14 on, argparse itself would colour the help, with what `say` escapes
    return parser


def parse(parser: CommandParser, words: Sequence[str], *, is_intermixed: bool = False) -> argparse.Namespace:
    """The parsed arguments; raises UsageError for unknown words, missing arguments, and missing or surplus values.

    `is_intermixed`: options may stand between arguments of which there are several.
    """
    try:
        arguments, unknown = (parser.parse_known_intermixed_args if is_intermixed else parser.parse_known_args)(words)
    except argparse.ArgumentError as error:
        parser.refuse(error.argument_name, error.message, words)
    if unknown:
        word = unknown[0].partition("=")[0]
        # SLF001: argparse has no public list
        flags = [flag for action in parser._actions for flag in action.option_strings]  # noqa: SLF001
        known = flags if word == "--version" else [*flags, "--version"]
        raise UsageError(f"`{parser.prog}` does not know {word}.{hint(word, known, parser.prog)}")
    return arguments


def hint(name: str, known: Sequence[str], command: str = "hashrange serve") -> str:
    """A sentence with the known name that is most like `name`, or where to find all names; begins with a space."""
    return did_you_mean(name, known) or f" `{command} --help` lists what it knows."
