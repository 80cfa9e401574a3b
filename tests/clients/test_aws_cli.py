"""The AWS CLI, as people type it: its waiters, pages and forms of output, and how it shows a refusal."""

import json
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from tests.clients.command_line import REFUSED, CommandLine
from tests.clients.conftest import Lend
from tests.clients.serving import ServerProcess

KEY = '{"Artist": {"S": "The Loops"}, "Song": {"S": "One"}}'

pytestmark = pytest.mark.packaging


class Service:
    """`aws dynamodb …`, or that of another service."""

    def __init__(self, command_line: CommandLine, name: str) -> None:
        self.run = partial(command_line.run, name)
        self.said = partial(command_line.said, name)

    def __call__(self, *words: str) -> str:
        """Output of a command, which must succeed."""
        return self.said(*words)


@pytest.fixture(scope="module")
def command_line(lend: Lend) -> Iterator[CommandLine]:
    with CommandLine(lend().endpoint) as made:
        yield made


@pytest.fixture
def aws(command_line: CommandLine, server: ServerProcess) -> Service:
    """The command line, whose server has the table Music alone."""
    assert command_line.endpoint == server.endpoint
    made = Service(command_line, "dynamodb")
    made(
        *("create-table", "--table-name", "Music", "--billing-mode", "PAY_PER_REQUEST"),
        *("--attribute-definitions", "AttributeName=Artist,AttributeType=S", "AttributeName=Song,AttributeType=S"),
        *("--key-schema", "AttributeName=Artist,KeyType=HASH", "AttributeName=Song,KeyType=RANGE"),
    )
    made("wait", "table-exists", "--table-name", "Music")
    return made


def put(aws: Service, song: str) -> Any:
    item = {"Artist": {"S": "The Loops"}, "Song": {"S": song}, "Plays": {"N": "1"}}
    words = ("put-item", "--table-name", "Music", "--item", json.dumps(item), "--return-consumed-capacity", "TOTAL")
    return json.loads(aws(*words))


def test_a_session(aws: Service) -> None:
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


def test_refusals_are_shown_in_the_service_s_words(aws: Service) -> None:
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


def test_a_stream_is_read(aws: Service, command_line: CommandLine) -> None:
    streams = Service(command_line, "dynamodbstreams")
    aws(
        *("update-table", "--table-name", "Music"),
        *("--stream-specification", "StreamEnabled=true,StreamViewType=NEW_IMAGE"),
    )
    put(aws, "One")
    put(aws, "Two")
    arn = streams(
        *("list-streams", "--table-name", "Music", "--query", "Streams[0].StreamArn", "--output", "text")
    ).strip()
    described = json.loads(streams("describe-stream", "--stream-arn", arn))["StreamDescription"]
    assert (described["StreamStatus"], described["StreamViewType"]) == ("ENABLED", "NEW_IMAGE")
    (shard,) = described["Shards"]
    of_shard = ("get-shard-iterator", "--stream-arn", arn, "--shard-id", shard["ShardId"], "--query", "ShardIterator")

    def heard(*place: str) -> Any:
        iterator = streams(*of_shard, *place, "--output", "text").strip()
        return json.loads(streams("get-records", "--shard-iterator", iterator))

    page = heard("--shard-iterator-type", "TRIM_HORIZON")
    changes = [(one["eventName"], one["dynamodb"]["NewImage"]["Song"]["S"]) for one in page["Records"]]
    assert changes == [("INSERT", "One"), ("INSERT", "Two")]
    first, second = (one["dynamodb"]["SequenceNumber"] for one in page["Records"])
    after = heard("--shard-iterator-type", "AFTER_SEQUENCE_NUMBER", "--sequence-number", first)
    assert [one["dynamodb"]["SequenceNumber"] for one in after["Records"]] == [second]
    assert heard("--shard-iterator-type", "LATEST")["Records"] == []

    refused = streams.run("describe-stream", "--stream-arn", arn.replace("Music", "music"))
    assert refused.returncode == REFUSED
    assert refused.stderr.strip() == (
        "An error occurred (ResourceNotFoundException) when calling the DescribeStream operation: "
        f"Requested resource not found: Stream: {arn.replace('Music', 'music')} not found"
    )
