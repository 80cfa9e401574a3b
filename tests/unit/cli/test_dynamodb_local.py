"""DynamoDB Local's flags have the same meaning here as there, or are refused."""

import pytest

from hashrange.cli.dynamodb_local import is_dynamodb_local, translate
from hashrange.cli.parsing import UsageError


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("-inMemory -port 8001", "--in-memory --port 8001"),
        ("-sharedDb -dbPath /data", "--shared-db --data-dir /data"),
        ("-delayTransientStatuses", "--table-state-delay 3"),
        ("-cors * -port 1", "--port 1"),
        ("-disableTelemetry -optimizeDbBeforeStartup", ""),
        ("-Djava.library.path=./lib -jar DynamoDBLocal.jar -sharedDb", "--shared-db"),
        ("-Xmx256m -inMemory", "--in-memory"),
        ("-inMemory --log-level debug", "--in-memory --log-level debug"),
        ("-help", "--help"),
    ],
)
def test_flags_are_translated(theirs: str, ours: str) -> None:
    assert is_dynamodb_local(theirs.split())
    assert translate(theirs.split()) == ours.split()


@pytest.mark.parametrize("words", ["--port 8000", "", "--in-memory -h"])
def test_our_own_flags_are_left_alone(words: str) -> None:
    assert not is_dynamodb_local(words.split())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("-inmemory", "-inmemory is no flag of DynamoDB Local that Hashrange understands. Did you mean -inMemory?"),
        ("-port", "-port needs a value behind it."),
        ("-inMemory -cors", "-cors needs a value behind it."),
    ],
)
def test_an_unknown_flag_is_refused(words: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        translate(words.split())
    assert str(caught.value).startswith(message)
