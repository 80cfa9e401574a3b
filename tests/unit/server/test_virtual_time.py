"""A whole server whose service time a test moves: delayed effects appear as soon as time has moved,
and nothing sleeps.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import pytest

from hashrange.jobs.virtual_time import advance
from hashrange.operations.registry import ALL_OPERATIONS
from hashrange.server.app import run_on_best_loop
from hashrange.server.listener import Server, read_secrets
from hashrange.service.service import Service
from hashrange.settings import Settings
from hashrange.store.embedded import open_store
from hashrange.store.embedded.participant import Options
from tests.support.clocks import VirtualClock, advance_all
from tests.support.signing import sign
from tests.unit.server.harness import as_bytes, reply

INDEX_DELAY_SECONDS = 5.0
STATE_DELAY_SECONDS = 60.0
ITEMS = 300
"""Number of items: more than two slices of each job process."""
BATCH_ITEMS = 25
HASH_KEY = {"KeySchema": [{"AttributeName": "status", "KeyType": "HASH"}], "Projection": {"ProjectionType": "ALL"}}


class Served:
    """A client of a started server, and the server's clock."""

    def __init__(self, server: Server, clock: VirtualClock, port: int) -> None:
        self.server = server
        self.clock = clock
        self._port = port

    async def ask(self, operation: str, **members: Any) -> Any:
        """The reply to a request for the table `orders`, over a new connection."""
        return await self._reply(f"DynamoDB_20120810.{operation}", {"TableName": "orders"} | members)

    async def ask_stream(self, operation: str, **members: Any) -> Any:
        """The reply to a request for a stream, over a new connection."""
        return await self._reply(f"DynamoDBStreams_20120810.{operation}", members)

    async def _reply(self, target: str, members: dict[str, Any]) -> Any:
        body = msgspec.json.encode(members)
        headers = {
            "Host": "localhost", "Content-Type": "application/x-amz-json-1.0", "Connection": "close",
            "X-Amz-Target": target, "Content-Length": str(len(body)),
        }  # fmt: skip
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        writer.write(as_bytes(sign(headers, body, seconds=self.clock.wall_time()), body))
        answer = reply(await reader.read())
        writer.close()
        await writer.wait_closed()
        assert answer.status == 200, answer
        return msgspec.json.decode(answer.body)

    async def advance(self, seconds: float) -> None:
        """Advance service time."""
        await advance(self.clock, self.server.service.jobs, seconds)

    async def create(self, **members: Any) -> None:
        """Create the table, and wait until it is ACTIVE."""
        names = ("id", "status") if "GlobalSecondaryIndexes" in members else ("id",)
        await self.ask(
            "CreateTable",
            AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in names],
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
            BillingMode="PAY_PER_REQUEST",
            **members,
        )
        await self.advance(STATE_DELAY_SECONDS)

    async def put(self) -> None:
        """Put the items, all with the same status."""
        for start in range(0, ITEMS, BATCH_ITEMS):
            puts = [
                {"PutRequest": {"Item": {"id": {"S": f"o{number}"}, "status": {"S": "open"}}}}
                for number in range(start, start + BATCH_ITEMS)
            ]
            await self.ask("BatchWriteItem", RequestItems={"orders": puts})

    async def count(self) -> int:
        """The number of entries of the index."""
        scanned = await self.ask("Scan", IndexName="by-status", Select="COUNT")
        return int(scanned["Count"])


Scenario = Callable[[Served], Awaitable[None]]


def run_on_asyncio(main: Any) -> None:
    asyncio.run(main)


@pytest.fixture(params=[run_on_best_loop, run_on_asyncio], ids=["best-loop", "asyncio"])
def play(request: pytest.FixtureRequest) -> Callable[[Scenario], None]:
    """play(scenario): runs the scenario against a started server in memory."""

    async def serve(scenario: Scenario) -> None:
        clock = VirtualClock()
        settings = Settings(port=0, data_dir=None, table_state_delay_seconds=STATE_DELAY_SECONDS)
        store = open_store(None, clock, asyncio.get_running_loop(), Options(lambda: INDEX_DELAY_SECONDS))
        server = Server(Service(store, ALL_OPERATIONS, clock, settings), read_secrets(settings))
        endpoint = await server.start()
        try:
            async with asyncio.timeout(30):
                await scenario(Served(server, clock, int(endpoint.rpartition(":")[2])))
        finally:
            await server.stop()
            await store.close()

    return lambda scenario: request.param(serve(scenario))


def test_delayed_entries_are_there_once_their_time_has_come(play: Callable[[Scenario], None]) -> None:
    async def scenario(served: Served) -> None:
        await served.create(GlobalSecondaryIndexes=[{"IndexName": "by-status", **HASH_KEY}])
        await served.put()
        assert await served.count() == 0
        await served.advance(INDEX_DELAY_SECONDS - 0.5)
        assert await served.count() == 0
        await served.advance(0.5)
        assert await served.count() == ITEMS

    play(scenario)


def test_entries_are_there_as_well_when_all_three_readings_move(play: Callable[[Scenario], None]) -> None:
    async def scenario(served: Served) -> None:
        await served.create(GlobalSecondaryIndexes=[{"IndexName": "by-status", **HASH_KEY}])
        await served.put()
        await advance_all(served.clock, served.server.service.jobs, INDEX_DELAY_SECONDS)
        assert await served.count() == ITEMS

    play(scenario)


def test_an_index_is_built_once_there_is_room_for_it(play: Callable[[Scenario], None]) -> None:
    async def scenario(served: Served) -> None:
        await served.create()
        await served.put()
        await served.ask(
            "UpdateTable",
            AttributeDefinitions=[{"AttributeName": "status", "AttributeType": "S"}],
            GlobalSecondaryIndexUpdates=[{"Create": {"IndexName": "by-status", **HASH_KEY}}],
        )
        await served.advance(STATE_DELAY_SECONDS - 0.5)
        (index,) = (await served.ask("DescribeTable"))["Table"]["GlobalSecondaryIndexes"]
        assert (index["IndexStatus"], index["Backfilling"]) == ("CREATING", False)
        await served.advance(0.5)
        (index,) = (await served.ask("DescribeTable"))["Table"]["GlobalSecondaryIndexes"]
        assert (index["IndexStatus"], index["ItemCount"]) == ("ACTIVE", ITEMS)
        assert await served.count() == ITEMS

    play(scenario)


def test_only_what_is_done_for_the_engine_goes_by_real_time(play: Callable[[Scenario], None]) -> None:
    async def scenario(served: Served) -> None:
        jobs = served.server.service.jobs.jobs
        assert [job.name for job in jobs if not job.waits_for_service_time] == [
            "vector cells",
            "settle",
            "alarm-actions",
        ]

    play(scenario)


def test_each_expired_item_is_recorded_at_its_own_time(play: Callable[[Scenario], None]) -> None:
    async def scenario(served: Served) -> None:
        stream = {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}
        await served.create(StreamSpecification=stream)
        await served.ask("UpdateTimeToLive", TimeToLiveSpecification={"Enabled": True, "AttributeName": "expires"})
        await served.advance(STATE_DELAY_SECONDS)
        start = int(served.clock.service_time())
        dues = {f"o{number}": start + 60 + 7 * number for number in range(50)}
        for name, due in dues.items():
            await served.ask("PutItem", Item={"id": {"S": name}, "expires": {"N": str(due)}})
        arn = (await served.ask("DescribeTable"))["Table"]["LatestStreamArn"]
        await served.advance(3600.0)
        (shard,) = (await served.ask_stream("DescribeStream", StreamArn=arn))["StreamDescription"]["Shards"]
        begin = {"ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
        iterator = (await served.ask_stream("GetShardIterator", StreamArn=arn, **begin))["ShardIterator"]
        records = (await served.ask_stream("GetRecords", ShardIterator=iterator))["Records"]
        removed = [one["dynamodb"] for one in records if one["eventName"] == "REMOVE"]
        assert {one["Keys"]["id"]["S"]: one["ApproximateCreationDateTime"] for one in removed} == dues
        assert len(removed) == len(dues)

    play(scenario)
