"""How is a command's line parsed? By `parse`, with a `CommandParser` for each command; the first fault is reported in one sentence."""

import argparse
from collections.abc import Sequence
from typing import Any, NoReturn

from hashrange.cli.output import lines_of, say
from hashrange.errors import HashrangeError


class UsageError(HashrangeError):
    """The command line or a setting is wrong. The message says what is wrong and, in most cases, gives a remedy."""


class CommandParser(argparse.ArgumentParser):
    """argparse's parser; with `parse`, faults are raised as UsageError."""

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

    def refuse(self, argument: str | None, message: str) -> NoReturn:
        """Raise UsageError for a missing or surplus value. `argument`: all flags of the option, joined by slashes; None
        for a fault of the whole line, which `error` reports.
        """
        action = next((each for each in self._actions if "/".join(each.option_strings) == argument), None)
        if action is None:
            self.error(message)
        flag = next((each for each in action.option_strings if each.startswith("--")), action.option_strings[0])
        if action.nargs != 0:
            raise UsageError(f"{flag} needs a value behind it: {flag} {action.metavar}.")
        negative = (
            f"; {action.option_strings[1]} turns it off" if len(action.option_strings) > 1 and flag != "--help" else ""
        )
        raise UsageError(f"{flag} takes no value: it stands alone{negative}.")


def command_parser(name: str, description: str, example: str) -> CommandParser:
    """A parser for `hashrange NAME`, still without arguments; its result omits options without value and default."""
    return CommandParser(
        prog=f"hashrange {name}",
        description=description,
        epilog=example,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        argument_default=argparse.SUPPRESS,
        allow_abbrev=False,
        exit_on_error=False,
    )


def parse(parser: CommandParser, words: Sequence[str]) -> argparse.Namespace:
    """The parsed arguments; raises UsageError for unknown words, missing arguments, and missing or surplus values."""
    try:
        arguments, unknown = parser.parse_known_args(words)
    except argparse.ArgumentError as error:
        parser.refuse(error.argument_name, error.message)
    if unknown:
        word = unknown[0].partition("=")[0]
        known = [flag for action in parser._actions for flag in action.option_strings]  # noqa: SLF001 - argparse has no public list
        raise UsageError(f"`{parser.prog}` does not know {word}.{hint(word, known, parser.prog)}")
    return arguments


def hint(name: str, known: Sequence[str], command: str = "hashrange serve") -> str:
    """A sentence with the known name that is most like `name`, or where to find all names; begins with a space."""
    import difflib

    close = difflib.get_close_matches(name, known, n=1)
    return f" Did you mean {close[0]}?" if close else f" `{command} --help` lists what it knows."
