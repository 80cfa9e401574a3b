"""`hashrange version`: which versions of Hashrange, Python and libraries run here?"""

import platform
from importlib.metadata import PackageNotFoundError, version

from hashrange import __version__
from hashrange.cli.main import DONE
from hashrange.cli.output import say
from hashrange.cli.parsing import CommandParser, command_parser, parse

EXAMPLE = """example:
  hashrange version
"""
PARTS = ("rocksdict", "msgspec", "httptools", "zlib-ng", "uvloop")


def run(words: list[str]) -> int:
    """Print the versions; returns the exit code."""
    parse(build_parser(), words)
    say(f"hashrange {__version__} (Python {platform.python_version()}, {platform.system()} {platform.machine()})")
    for name in PARTS:
        say(f"  {name} {version_of(name)}")
    return DONE


def build_parser() -> CommandParser:
    """The parser of `hashrange version`."""
    return command_parser("version", "Print the versions of Hashrange and of what it stands on.", EXAMPLE)


def version_of(name: str) -> str:
    """The installed version of a library, or `not installed`."""
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
