"""PartiQL as people use it: through boto3 with its pager, the AWS CLI and the DocumentClient of JavaScript.

No SDK has a paginator for ExecuteStatement; boto3's generic one only needs the names of the token members.
"""

import json
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.paginate import Paginator

from tests.clients.command_line import CommandLine
from tests.clients.programs import heard, node
from tests.clients.serving import ServerProcess
from tests.clients.stories import HERE

SONGS = [f"Song {number:02}" for number in range(1, 8)]
PAGES = {"input_token": "NextToken", "output_token": "NextToken", "limit_key": "Limit", "result_key": "Items"}


def music(endpoint: str) -> Any:
    """A client, and the table Music with seven songs."""
    client = boto3.client(
        "dynamodb",
        endpoint_url=endpoint,
        region_name="eu-west-1",
        aws_access_key_id="key",
        aws_secret_access_key="secret",
    )
    client.create_table(
        TableName="Music",
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("Artist", "Song")],
        KeySchema=[{"AttributeName": "Artist", "KeyType": "HASH"}, {"AttributeName": "Song", "KeyType": "RANGE"}],
    )
    client.get_waiter("table_exists").wait(TableName="Music", WaiterConfig={"Delay": 1})
    for song in SONGS:
        client.execute_statement(
            Statement="INSERT INTO Music VALUE {'Artist': 'The Loops', 'Song': ?}", Parameters=[{"S": song}]
        )
    return client


def test_boto3_pages_errors_batches_and_transactions(server: ServerProcess) -> None:
    client = music(server.endpoint)
    pager = Paginator(client.execute_statement, PAGES, client.meta.service_model.operation_model("ExecuteStatement"))
    pages = pager.paginate(
        Statement="SELECT Song FROM Music WHERE Artist = ?",
        Parameters=[{"S": "The Loops"}],
        PaginationConfig={"PageSize": 3},
    )
    assert [[item["Song"]["S"] for item in page["Items"]] for page in pages] == [SONGS[:3], SONGS[3:6], SONGS[6:]]

    with pytest.raises(client.exceptions.DuplicateItemException) as again:
        client.execute_statement(Statement="INSERT INTO Music VALUE {'Artist': 'The Loops', 'Song': 'Song 01'}")
    assert again.value.response["Error"]["Message"] == "Duplicate primary key exists in table"
    delete = "DELETE FROM Music WHERE Artist = 'The Loops' AND Song = ?"
    replies = client.batch_execute_statement(
        Statements=[
            {"Statement": delete, "Parameters": [{"S": "Song 01"}]},
            {"Statement": delete + " AND Plays > 1", "Parameters": [{"S": "Song 02"}]},
        ]
    )["Responses"]
    assert [reply.get("Error", {}).get("Code") for reply in replies] == [None, "ConditionalCheckFailed"]
    with pytest.raises(client.exceptions.TransactionCanceledException) as cancelled:
        client.execute_transaction(
            TransactStatements=[
                {"Statement": delete, "Parameters": [{"S": "Song 03"}]},
                {"Statement": "INSERT INTO Music VALUE {'Artist': 'The Loops', 'Song': 'Song 04'}"},
            ]
        )
    assert [reason["Code"] for reason in cancelled.value.response["CancellationReasons"]] == ["None", "DuplicateItem"]
    client.close()


def test_a_token_outlives_a_restart(tmp_path: Path) -> None:
    server = ServerProcess(tmp_path / "data")
    try:
        client = music(server.endpoint)
        request = {"Statement": "SELECT Song FROM Music WHERE Artist = 'The Loops'", "Limit": 3}
        first = client.execute_statement(**request)
        server.restart()
        rest = client.execute_statement(**request | {"Limit": 9}, NextToken=first["NextToken"])
        assert [item["Song"]["S"] for item in first["Items"] + rest["Items"]] == SONGS
        client.close()
    finally:
        server.stop()


@pytest.mark.packaging
def test_the_command_line(server: ServerProcess) -> None:
    music(server.endpoint).close()
    with CommandLine(server.endpoint) as command_line:

        def aws(*words: str) -> Any:
            done = command_line.run("dynamodb", *words)
            return json.loads(done.stdout) if done.returncode == 0 else done.stderr.strip()

        first = aws("execute-statement", "--statement", 'SELECT Song FROM "Music"', "--limit", "4")
        assert len(first["Items"]) == 4
        rest = aws("execute-statement", "--statement", 'SELECT Song FROM "Music"', "--next-token", first["NextToken"])
        assert len(rest["Items"]) == 3
        parameters = json.dumps([{"S": "Song 02"}])
        update = "UPDATE Music SET Plays = 1 WHERE Artist = 'The Loops' AND Song = ? RETURNING MODIFIED NEW *"
        updated = aws("execute-statement", "--statement", update, "--parameters", parameters)
        assert updated == {"Items": [{"Plays": {"N": "1"}}]}
        assert aws("execute-statement", "--statement", "SELECT * FROM Music LIMIT 1").startswith(
            "An error occurred (ValidationException) when calling the ExecuteStatement operation: "
        )


@pytest.mark.packaging
def test_the_document_client_of_javascript(server: ServerProcess) -> None:
    folder = HERE / "javascript"
    assert heard([node(folder), "--no-warnings", "statements.mjs", server.endpoint], folder) == {
        "again": "DuplicateItemException",
        "pages": [[2], [3, 4], [5]],
        "updated": [[42, ["a"]]],
        "flat": [{"plays": 42}],
        "batch": ["Song 1", None],
        "cancelled": ["None", "ConditionalCheckFailed"],
        "left": ["Song 5", "Song 4", "Song 3", "Song 2"],
    }
