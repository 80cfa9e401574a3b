"""`hashrange version`: what exactly is running here?"""

import argparse
import platform
from importlib.metadata import PackageNotFoundError, version

from hashrange import __version__
from hashrange.cli.main import DONE

EXAMPLE = """example:
  hashrange version
"""
PARTS = ("rocksdict", "msgspec", "httptools", "zlib-ng", "uvloop")


def run(words: list[str]) -> int:
    """Print the versions; returns the exit code."""
    argparse.ArgumentParser(
        prog="hashrange version",
        description="Print the versions of Hashrange and of what it stands on.",
        epilog=EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    ).parse_args(words)
    print(f"hashrange {__version__} (Python {platform.python_version()}, {platform.system()} {platform.machine()})")
    for name in PARTS:
        print(f"  {name} {version_of(name)}")
    return DONE


def version_of(name: str) -> str:
    """The installed version of a library, or that there is none."""
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
