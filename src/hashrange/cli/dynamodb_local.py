"""How are DynamoDB Local's flags understood? They are replaced by Hashrange's or ignored,
so that Hashrange is a drop-in replacement.

`-jar DynamoDBLocal.jar`, `-Djava.library.path=…` and `-Xmx…` are ignored too: compose files pass them with the flags.
"""

from collections.abc import Iterator

from hashrange import __version__
from hashrange.cli.parsing import UsageError
from hashrange.settings import Settings
from hashrange.written.names import did_you_mean

DELAY_SECONDS = 3
"""How long tables stay CREATING, UPDATING and DELETING with `-delayTransientStatuses`."""

WITH_VALUE = {"-port": "--port", "-dbPath": "--data-dir"}
WITHOUT_VALUE = {"-inMemory": "--in-memory", "-sharedDb": "--shared-db", "-help": "--help"}
WITHOUT_EFFECT = frozenset({"-disableTelemetry", "-optimizeDbBeforeStartup"})
"""Flags without a value that are ignored: Hashrange sends no telemetry, and its engine optimizes itself."""
JAVA_PREFIXES = ("-D", "-Xm", "-Xs", "-XX:")

READY_LINES = """Initializing DynamoDB Local with the following configuration:
Port:\t{port}
InMemory:\t{in_memory}
Version:\tHashrange {version}
DbPath:\t{data_dir}
SharedDb:\t{shared_db}
shouldDelayTransientStatuses:\t{is_delayed}
CorsParams:\t*
"""
"""What DynamoDB Local prints when it starts; tools that start it wait for the first of these lines."""


def is_dynamodb_local(words: list[str]) -> bool:
    """True if the command line has a flag in DynamoDB Local's style: one dash, then a word."""
    return any(map(_has_one_dash, words))


def _has_one_dash(word: str) -> bool:
    return word.startswith("-") and not word.startswith("--") and len(word) > 2


def translate(words: list[str]) -> list[str]:
    """The command line with DynamoDB Local's flags replaced by Hashrange's; both may be mixed.

    Raises UsageError for an unknown flag with one dash, or a known one without its value.
    """
    return [word for part in _parts(iter(words)) for word in part]


def ready_lines(settings: Settings, port: int) -> str:
    """The lines that tools wait for which start DynamoDB Local, for a server with these
    settings that listens on `port`.
    """
    return READY_LINES.format(
        port=port,
        in_memory=str(settings.data_dir is None).lower(),
        version=__version__,
        data_dir=settings.data_dir or "null",
        shared_db=str(settings.shared_db).lower(),
        is_delayed=str(settings.table_state_delay_seconds > 0).lower(),
    )


def _parts(words: Iterator[str]) -> Iterator[list[str]]:
    for word in words:
        if word in WITH_VALUE:
            yield [WITH_VALUE[word], _value(word, words)]
        elif word in WITHOUT_VALUE:
            yield [WITHOUT_VALUE[word]]
        elif word == "-delayTransientStatuses":
            yield ["--table-state-delay", str(DELAY_SECONDS)]
        elif word in {"-cors", "-jar"}:
            _value(word, words)  # `-cors` and `-jar` are ignored: every origin is answered, no jar file is needed
        elif word in WITHOUT_EFFECT or word.startswith(JAVA_PREFIXES):
            continue
        elif _has_one_dash(word):
            known = [*WITH_VALUE, *WITHOUT_VALUE, "-cors", "-delayTransientStatuses", *sorted(WITHOUT_EFFECT)]
            near = did_you_mean(word, known)
            meant = f".{near}" if near else f"; it knows {', '.join(known)}."
            raise UsageError(f"{word} is no flag of DynamoDB Local that Hashrange understands{meant}")
        else:
            yield [word]


def _value(flag: str, words: Iterator[str]) -> str:
    value = next(words, None)
    if value is None:
        raise UsageError(f"{flag} needs a value behind it.")
    return value
