"""What do DynamoDB Local's flags mean here? They become ours, so that Hashrange drops in where it was started.

`-jar DynamoDBLocal.jar`, `-Djava.library.path=…` and `-Xmx…` may stay: compose files pass them along with the flags.
"""

from collections.abc import Iterator

from hashrange.cli.parsing import UsageError

DELAY_SECONDS = 3
"""`-delayTransientStatuses`: so long tables stay CREATING, as they do for some seconds there."""

WITH_VALUE = {"-port": "--port", "-dbPath": "--data-dir"}
WITHOUT_VALUE = {"-inMemory": "--in-memory", "-sharedDb": "--shared-db", "-help": "--help"}
WITHOUT_EFFECT = frozenset({"-disableTelemetry", "-optimizeDbBeforeStartup"})
"""Nothing to do: Hashrange reports to nobody, and its engine keeps itself in order."""
JAVA_PREFIXES = ("-D", "-Xm", "-Xs", "-XX:")


def is_dynamodb_local(words: list[str]) -> bool:
    """True when a command line is written in DynamoDB Local's way: one dash, then a word."""
    return any(word.startswith("-") and not word.startswith("--") and len(word) > 2 for word in words)


def translate(words: list[str]) -> list[str]:
    """The same command line in our flags, which may stand among theirs; raises UsageError."""
    return [word for part in _parts(iter(words)) for word in part]


def _parts(words: Iterator[str]) -> Iterator[list[str]]:
    for word in words:
        if word in WITH_VALUE:
            yield [WITH_VALUE[word], _value(word, words)]
        elif word in WITHOUT_VALUE:
            yield [WITHOUT_VALUE[word]]
        elif word == "-delayTransientStatuses":
            yield ["--table-state-delay", str(DELAY_SECONDS)]
        elif word in {"-cors", "-jar"}:
            _value(word, words)  # Every origin is answered, so any list of them is.
        elif word in WITHOUT_EFFECT or word.startswith(JAVA_PREFIXES):
            continue
        elif word.startswith("-") and not word.startswith("--") and len(word) > 2:
            known = ", ".join(
                [*WITH_VALUE, *WITHOUT_VALUE, "-cors", "-delayTransientStatuses", *sorted(WITHOUT_EFFECT)]
            )
            raise UsageError(f"{word} is no flag of DynamoDB Local that Hashrange understands; it knows {known}.")
        else:
            yield [word]


def _value(flag: str, words: Iterator[str]) -> str:
    value = next(words, None)
    if value is None:
        raise UsageError(f"{flag} needs a value behind it.")
    return value
