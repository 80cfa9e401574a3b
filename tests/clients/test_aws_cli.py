"""The AWS CLI, as people type it: its waiters, pages and forms of output, and how it shows a refusal."""

import json
import os
import subprocess
from typing import Any

import pytest

from tests.clients.programs import aws_cli
from tests.clients.serving import ServerProcess
from tests.clients.stories import HERE

KEY = '{"Artist": {"S": "The Loops"}, "Song": {"S": "One"}}'
REFUSED = 255

pytestmark = pytest.mark.packaging


class CommandLine:
    """`aws dynamodb …` against one server."""

    def __init__(self, endpoint: str) -> None:
        self.command = [*aws_cli(HERE / "aws_cli"), "dynamodb"]
        self.environment = {
            **os.environ,
            "AWS_ACCESS_KEY_ID": "key",
            "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_DEFAULT_REGION": "eu-west-1",
            "AWS_ENDPOINT_URL_DYNAMODB": endpoint,
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        }

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """One command, whatever comes of it."""
        return subprocess.run(
            [*self.command, *words], env=self.environment, capture_output=True, text=True, timeout=60, check=False
        )

    def __call__(self, *words: str) -> str:
        """What a command prints that must work."""
        done = self.run(*words)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout


@pytest.fixture
def aws(server: ServerProcess) -> CommandLine:
    """The command line, with the table Music."""
    made = CommandLine(server.endpoint)
    made(
        *("create-table", "--table-name", "Music", "--billing-mode", "PAY_PER_REQUEST"),
        *("--attribute-definitions", "AttributeName=Artist,AttributeType=S", "AttributeName=Song,AttributeType=S"),
        *("--key-schema", "AttributeName=Artist,KeyType=HASH", "AttributeName=Song,KeyType=RANGE"),
    )
    made("wait", "table-exists", "--table-name", "Music")
    return made


def put(aws: CommandLine, song: str) -> Any:
    item = {"Artist": {"S": "The Loops"}, "Song": {"S": song}, "Plays": {"N": "1"}}
    words = ("put-item", "--table-name", "Music", "--item", json.dumps(item), "--return-consumed-capacity", "TOTAL")
    return json.loads(aws(*words))


def test_a_session(aws: CommandLine) -> None:
    assert [put(aws, song)["ConsumedCapacity"]["CapacityUnits"] for song in ("One", "Two", "Thrée")] == [1, 1, 1]
    aws(
        *("update-item", "--table-name", "Music", "--key", KEY),
        *("--update-expression", "ADD Plays :n", "--expression-attribute-values", '{":n": {"N": "41"}}'),
    )
    got = aws("get-item", "--table-name", "Music", "--key", KEY, "--consistent-read", "--query", "Item.Plays.N")
    assert json.loads(got) == "42"
    songs = aws(
        *("query", "--table-name", "Music", "--page-size", "2", "--no-scan-index-forward"),
        *("--key-condition-expression", "Artist = :artist"),
        *("--expression-attribute-values", '{":artist": {"S": "The Loops"}}'),
        *("--query", "Items[].Song.S", "--output", "text"),
    )
    assert songs.split() == ["Two", "Thrée", "One"]
    first = json.loads(aws("scan", "--table-name", "Music", "--max-items", "2"))
    assert len(first["Items"]) == 2
    rest = json.loads(aws("scan", "--table-name", "Music", "--starting-token", first["NextToken"]))
    assert len(rest["Items"]) == 1
    assert json.loads(aws("list-tables")) == {"TableNames": ["Music"]}


def test_refusals_are_shown_in_the_service_s_words(aws: CommandLine) -> None:
    missing = aws.run("put-item", "--table-name", "Music", "--item", '{"Artist": {"S": "The Loops"}}')
    assert missing.returncode == REFUSED
    assert missing.stderr.strip() == (
        "An error occurred (ValidationException) when calling the PutItem operation: "
        "One or more parameter values were invalid: Missing the key Song in the item"
    )
    unknown = aws.run("describe-table", "--table-name", "music")
    assert unknown.returncode == REFUSED
    assert unknown.stderr.strip() == (
        "An error occurred (ResourceNotFoundException) when calling the DescribeTable operation: "
        "Requested resource not found: Table: music not found"
    )
