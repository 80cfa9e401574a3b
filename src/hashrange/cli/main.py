"""Which command does a command line run? Finds it, runs it, and turns a HashrangeError into
one sentence and an exit code.

Exit codes: 0 done; 1 the command failed, or a check found faults; 2 the command line, a setting, or a file or
folder that one of them names is wrong; 3 `apply` left something out, or `diagnose` found something; 129,
130 and 143 ended by SIGHUP, SIGINT and SIGTERM; 141 nobody reads the output.
Only the chosen command's file is imported: `hashrange serve` must be ready in 150 ms.
"""

import contextlib
import gc
import signal
import sys
import threading
from importlib import import_module
from types import TracebackType

from hashrange.cli.folding import fold, fold_prose, prose_columns
from hashrange.cli.output import OutputError, complain, lines_of, say
from hashrange.cli.parsing import UsageError
from hashrange.errors import HashrangeError
from hashrange.settings import SettingUnusable
from hashrange.toolkit.failures import UsageFault
from hashrange.written.names import did_you_mean

COMMANDS = {
    "serve": "serve DynamoDB's API over HTTP",
    "cluster": "run servers over nodes of Apache Cassandra on this machine",
    "check": "verify that a data folder, or a folder of copies, is sound",
    "inspect": "show a data folder's tables, or the item at a key",
    "tail": "print a table's changes as they come, from a running server",
    "snapshot": "write the content of a running server to a file",
    "backup": "add a copy of a running server, or of a data folder, to a folder",
    "restore": "make a data folder of a copy, or list the copies",
    "unarchive": "bring expired items back from S3, or show which",
    "dax": "show how the DAX clusters of a running server are used",
    "design": "design a table, for CloudFormation, CDK, Terraform or at once",
    "apply": "create and change tables as a template says, of CloudFormation, SAM, the CDK or Terraform",
    "model": "check, run and draw a model of tables, items and access patterns",
    "capacity": "compute units and monthly cost of a table in each mode",
    "diagnose": "tell what is wrong with a table, why, and what helps",
    "scan": "read all items of a table, in parallel, into a file or to standard output",
    "load": "write the items of files, or of a table's export, into a table",
    "copy": "copy the items of a table into another one, at any endpoint",
    "toolkit": "write scripts, templates and references for DynamoDB into a folder",
    "mcp": "serve a running server's tables as tools for language models",
    "doctor": "tell whether a server starts here, and whether clients reach it",
    "completion": "print a shell's completion of these commands and their options",
    "version": "print the versions of Hashrange and of what it stands on",
}

DONE, FAILED, WRONG_USE, INTERRUPTED, UNREAD = 0, 1, 2, 130, 141
"""Exit codes; the last two are what a shell reports after SIGINT and SIGPIPE."""
BY_SIGNAL = 128
"""A shell reports the end by a signal as this and the signal's number."""
ENDING_SIGNALS = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]

YOUNG_OBJECTS_MAX = 50_000
"""A garbage collection begins when there are this many new objects. The number is large, because the objects that
imports make are never garbage: a collection during the start would free nothing and take 8 ms."""

HELP = """usage: hashrange COMMAND …

DynamoDB, anywhere: a server that AWS SDKs, the AWS CLI and other tools talk to as they do to DynamoDB.
"""
HELP_END = """
`hashrange COMMAND --help` tells more. DynamoDB Local's flags are understood too: `hashrange -inMemory -port 8000`.

example:
  hashrange serve --data-dir ./hashrange-data
"""


def main(arguments: list[str] | None = None) -> int:
    """Run one command line; returns its exit code."""
    gc.set_threshold(YOUNG_OBJECTS_MAX)
    words = sys.argv[1:] if arguments is None else arguments
    if arguments is None:
        sys.excepthook = show_traceback
        threading.excepthook = lambda failed: show_traceback(failed.exc_type, failed.exc_value, failed.exc_traceback)
    if arguments is None and words and words[0] in COMMANDS.keys() - {"serve"}:
        for number in ENDING_SIGNALS:
            if signal.getsignal(number) is signal.SIG_DFL:  # it is not ignored, as it is under nohup
                signal.signal(number, _interrupt)
    try:
        try:
            return _run(words)
        finally:
            say(is_flushed=True)
    except KeyboardInterrupt as interrupt:
        return BY_SIGNAL + interrupt.args[0] if interrupt.args else INTERRUPTED
    except OutputError as error:
        with contextlib.suppress(OSError):
            sys.stdout.close()  # otherwise the interpreter flushes standard output again at exit and shows the error
        return UNREAD if error.is_unread else refuse(str(error), FAILED)
    except (UsageError, SettingUnusable, UsageFault) as error:
        return refuse(str(error), WRONG_USE)
    except HashrangeError as error:
        return refuse(str(error), FAILED)


def show_traceback(kind: type[BaseException], error: BaseException | None, trace: TracebackType | None) -> None:
    """Print the traceback of an error that no code expects, which may quote what others have written."""
    # Imported here: it is almost never needed.
    import traceback

    lines = "".join(traceback.format_exception(kind, error, trace)).removesuffix("\n")
    with contextlib.suppress(OSError):
        complain(*lines_of(lines))


def _interrupt(number: int, _frame: object) -> None:
    """Let a signal end the command as SIGINT does, which cleans up."""
    raise KeyboardInterrupt(number)


def _run(words: list[str]) -> int:
    name = words[0] if words else ""
    if name in {"-V", "--version"} or (name in COMMANDS and words[1:] == ["--version"]):
        return _run(["version"])
    if name in COMMANDS:
        code: int = import_module(f"hashrange.cli.{name}").run(words[1:])
        return code
    if name in {"-h", "--help", "help"}:
        say(*lines_of(help_text()))
        return DONE
    if name.startswith("-"):
        return _run(["serve", *words])
    if not name:
        complain(*lines_of(help_text()))
        return WRONG_USE
    return refuse(
        f"there is no command {name}.{did_you_mean(name, list(COMMANDS))} The commands are {', '.join(COMMANDS)}.",
        WRONG_USE,
    )


def help_text() -> str:
    """The text that `hashrange --help` prints."""
    columns, width = prose_columns(sys.stdout), max(map(len, COMMANDS))
    commands = [fold(f"  {name:<{width}}  {text}", columns, width + 4) for name, text in COMMANDS.items()]
    lines = [*fold_prose(HELP, columns), "commands:", *(line for one in commands for line in one)]
    return "\n".join([*lines, "", *fold_prose(HELP_END, columns)])


def refuse(sentence: str, code: int) -> int:
    """Print `sentence` on standard error, if that is writable; returns `code`."""
    try:
        complain(f"hashrange: {sentence}")
    except OSError:
        with contextlib.suppress(OSError):
            sys.stderr.close()  # otherwise the interpreter flushes standard error at exit and changes the exit code
    return code


def count(number: int, noun: str, plural: str = "") -> str:
    """A number and its noun, in the plural if needed: `1 table`, `12,000 rows`. `plural`: not with an s."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"
