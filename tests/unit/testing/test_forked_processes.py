"""Processes that are forked while a database runs: it says that they cannot use it,
and they may have databases of their own.
"""

import os
import subprocess
import sys

import pytest

from tests.support.waiting import PATIENCE_SECONDS
from tests.unit.testing.suites import SOURCE

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes cannot be forked here")

COMMON = """
import os, sys, warnings
import boto3
from hashrange.testing import mock_dynamodb, server

warnings.simplefilter("ignore", DeprecationWarning)  # of forks with threads, from Python 3.12 on
KEYS = {"region_name": "us-east-1", "aws_access_key_id": "any", "aws_secret_access_key": "any"}

def create(client):
    client.create_table(
        TableName="Music",
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )

def fill(client):
    # 9 MB: more than the engine keeps before it flushes.
    create(client)
    for number in range(30):
        client.put_item(TableName="Music", Item={"pk": {"S": str(number)}, "text": {"S": "x" * 300_000}})

def forked(function):
    # The exit status of a process that calls the function.
    sys.stdout.flush()
    child = os.fork()
    if not child:
        status = 1
        try:
            function()
            status = 0
        finally:
            sys.stdout.flush()
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

def told(function):
    try:
        function()
    except RuntimeError as error:
        return str(error)
"""


def printed(program: str, *arguments: str) -> str:
    """What a program prints; it fails if the program or a process that it forks hangs."""
    done = subprocess.run(
        [sys.executable, "-c", COMMON + program, *arguments],
        env=os.environ | {"PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_an_inherited_database_says_that_it_is_in_another_process() -> None:
    assert printed("""
with mock_dynamodb() as database:
    client, own, snapshot = boto3.client("dynamodb", **KEYS), database.client(), database.snapshot()
    create(client)
    def use():
        put = dict(TableName="Music", Item={"pk": {"S": "a"}})
        uses = [client.list_tables, lambda: client.put_item(**put), lambda: own.put_item(**put), database.reset,
                lambda: database.clock.advance(1), lambda: database.endpoint, database.fork, snapshot.release]
        said = {told(one) for one in uses}
        print(said)
        assert told(lambda: mock_dynamodb(database=database).__enter__()) in said
    print(forked(use), client.list_tables()["TableNames"])
""") == (
        "{'This process was forked from the one that runs the database, and cannot reach it in this way. Start another"
        " database here, or call this one at its `endpoint`, which the first process has to"
        " ask for before it forks.'}\n"
        "0 ['Music']\n"
    )


def test_an_inherited_database_is_reached_at_its_endpoint() -> None:
    assert printed("""
with mock_dynamodb() as database:
    create(database.client())
    endpoint = database.endpoint
    def use():
        assert database.endpoint == endpoint
        for client in (boto3.client("dynamodb", endpoint_url=endpoint, **KEYS), database.client(endpoint_url=endpoint)):
            client.update_item(TableName="Music", Key={"pk": {"S": "a"}}, UpdateExpression="ADD n :one",
                               ExpressionAttributeValues={":one": {"N": "1"}})
    print(forked(use), database.client().scan(TableName="Music")["Items"])
""") == "0 [{'n': {'N': '2'}, 'pk': {'S': 'a'}}]\n"  # fmt: skip


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the engine's threads cannot be seen here")
@pytest.mark.parametrize("place", ["inside", "after"])
def test_a_forked_process_may_have_a_database_of_its_own(place: str) -> None:
    """Both processes write so much that their engines flush, before and after the fork."""
    assert printed("""
def use():
    with mock_dynamodb() as own:
        assert boto3.client("dynamodb").list_tables()["TableNames"] == []
        fill(own.client())
    print("ended")
database = server()
client = database.__enter__().client()
fill(client)
if sys.argv[1] == "after":
    database.__exit__()
print(forked(use), forked(use))
if sys.argv[1] == "inside":
    client.delete_table(TableName="Music")
    fill(client)
    database.__exit__()
""", place) == "ended\nended\n0 0\n"  # fmt: skip
