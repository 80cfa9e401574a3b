"""What comes late: stream records, entries of global indexes, states of tables, and all three delays of `like_aws`."""

from collections import Counter
from typing import Any

import pytest

from hashrange.faults.fault import Fault
from hashrange.settings import LIKE_AWS_DELAYS, Settings, with_delays
from hashrange.testing.database import Database, server
from tests.unit.faults.kit import CHAT, impatient, make_chat, make_music, message, met, outcome, put_songs, song

VIEW = {"StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"}}


@pytest.fixture
def database(own_database: Database) -> Database:
    """A database whose service time no test before has moved: times of records do not go back with a restore."""
    return own_database


# --- stream records ------------------------------------------------------------------------------


class Reader:
    """Follows the stream of a table, shard by shard, and keeps its iterators."""

    def __init__(self, database: Database, table: str, kind: str = "TRIM_HORIZON") -> None:
        self.client = database.client("dynamodbstreams")
        self.arn = database.client().describe_table(TableName=table)["Table"]["LatestStreamArn"]
        self.kind = kind
        self.iterators: dict[str, str | None] = {}
        self.keys: list[str] = []

    def read(self, **members: Any) -> list[str]:
        """Read each known shard once; returns the keys of the records found."""
        found = []
        for shard in self.client.describe_stream(StreamArn=self.arn)["StreamDescription"]["Shards"]:
            name = shard["ShardId"]
            if name not in self.iterators:
                self.iterators[name] = self.client.get_shard_iterator(
                    StreamArn=self.arn, ShardId=name, ShardIteratorType=self.kind
                )["ShardIterator"]
            iterator = self.iterators[name]
            if iterator is None:
                continue
            reply = self.client.get_records(ShardIterator=iterator, **members)
            self.iterators[name] = reply.get("NextShardIterator")
            found += [record["dynamodb"]["Keys"]["pk"]["S"] for record in reply["Records"]]
        self.keys += found
        return found


@pytest.mark.parametrize("limit", [1, 2, 1000])
def test_a_reader_that_keeps_its_iterator_misses_no_record(database: Database, limit: int) -> None:
    client = database.client()
    make_music(client, "songs", **VIEW)
    database.clock.freeze()
    database.faults.use(Fault("late-records", seconds=10))
    reader = Reader(database, "songs")
    for number in range(20):
        client.put_item(TableName="songs", Item=song(str(number)))
        database.clock.advance(1)
        reader.read(Limit=limit)
        assert len(reader.keys) <= max(0, number - 8)
    for _ in range(20):
        database.clock.advance(1)
        reader.read(Limit=limit)
    assert reader.keys == [str(number) for number in range(20)]


def test_a_share_of_the_reads_finds_what_is_new_too(database: Database) -> None:
    client = database.client()
    make_music(client, "songs", **VIEW)
    database.clock.freeze()
    database.faults.use(Fault("late-records", seconds=10, share=0.5), seed=4)
    reader = Reader(database, "songs")
    sizes = Counter[int]()
    for number in range(30):
        client.put_item(TableName="songs", Item=song(str(number)))
        sizes[len(reader.read())] += 1
    database.clock.advance(10)
    for _ in range(3):
        reader.read()
    assert reader.keys == [str(number) for number in range(30)]
    assert sizes[0] > 5
    assert sizes[1] > 2


def test_records_of_a_closed_shard_come_late_too(database: Database) -> None:
    client = database.client()
    make_music(client, "songs", **VIEW)
    database.clock.freeze()
    database.faults.use(Fault("late-records", seconds=10, table="songs"))
    reader = Reader(database, "songs")
    reader.read()
    for key in "abc":
        client.put_item(TableName="songs", Item=song(key))
    client.update_table(TableName="songs", StreamSpecification={"StreamEnabled": False})
    assert reader.read() == []
    assert list(reader.iterators.values()) != [None]
    database.clock.advance(5)
    assert reader.read() == []
    database.clock.advance(5)
    assert reader.read() == ["a", "b", "c"]
    assert list(reader.iterators.values()) == [None]


def test_other_tables_and_readers_after_the_faults_are_not_late(database: Database) -> None:
    client = database.client()
    for name in ("songs", "albums"):
        make_music(client, name, **VIEW)
    database.clock.freeze()
    database.faults.use(Fault("late-records", seconds=3600, table="songs"))
    readers = [Reader(database, name) for name in ("songs", "albums")]
    for name in ("songs", "albums"):
        client.put_item(TableName=name, Item=song(name))
    assert [reader.read() for reader in readers] == [[], ["albums"]]
    assert [(one.fault, one.operation, one.table) for one in database.faults.report] == [(1, "GetRecords", "songs")]
    database.faults.clear()
    assert readers[0].read() == ["songs"]


def test_an_iterator_that_was_used_before_the_faults_goes_on(database: Database) -> None:
    client = database.client()
    make_music(client, "songs", **VIEW)
    reader = Reader(database, "songs", "LATEST")
    reader.read()
    database.clock.freeze()
    database.faults.use(Fault("late-records", seconds=10, table="songs"))
    client.put_item(TableName="songs", Item=song("a"))
    assert reader.read() == []
    database.clock.advance(10)
    assert reader.read() == ["a"]


# --- entries of global indexes --------------------------------------------------------------------


def by_author(client: Any) -> int:
    return int(client.scan(TableName=CHAT, IndexName="by_author")["Count"])


def post(client: Any, at: int) -> None:
    """Write a message that all indexes of the table hold."""
    client.put_item(TableName=CHAT, Item=message("r", at, author={"S": "a"}, topic={"S": "t"}))


def test_entries_come_late_until_time_passes_or_the_faults_are_cleared(database: Database) -> None:
    client = database.client()
    database.clock.freeze()
    database.faults.use(Fault("index-lag", seconds=30))
    post(client, 1)
    assert (by_author(client), client.scan(TableName=CHAT, IndexName="by_topic")["Count"]) == (0, 1)
    database.clock.advance(29)
    assert by_author(client) == 0
    database.clock.advance(1.01)
    assert by_author(client) == 1
    post(client, 2)
    assert by_author(client) == 1
    database.faults.clear()
    database.clock.advance(0)
    assert by_author(client) == 2
    post(client, 3)
    assert by_author(client) == 3


def test_a_share_of_the_writes_is_late_and_later_ones_do_not_overtake_them(database: Database) -> None:
    client = database.client()
    database.clock.freeze()
    database.faults.use(Fault("index-lag", seconds=30, skip=2, count=1))
    for at in range(5):
        post(client, at)
    put_songs(client, "a")  # has no index
    assert met(database) == [(1, "PutItem")]
    database.clock.advance(0)
    assert by_author(client) == 2
    database.clock.advance(30.01)
    assert by_author(client) == 5


def test_only_commits_with_entries_of_global_indexes_are_drawn_and_the_report_names_the_table(
    database: Database,
) -> None:
    client = database.client()
    database.clock.freeze()
    database.faults.use(Fault("index-lag", seconds=30, skip=1, count=1))
    put_songs(client, "a", "b")  # their table has no index
    client.put_item(TableName=CHAT, Item=message("r", 1, topic={"S": "t"}))  # an entry of the local index alone
    client.put_item(TableName=CHAT, Item=message("r", 2))
    client.delete_item(TableName=CHAT, Key=message("r", 3))
    post(client, 4)
    post(client, 4)  # changes nothing
    assert met(database) == []
    make_chat(client, TableName="other")
    puts = {"music": song("c"), "other": message("r", 1), CHAT: message("r", 5, author={"S": "a"})}
    client.transact_write_items(
        TransactItems=[{"Put": {"TableName": name, "Item": item}} for name, item in puts.items()]
    )
    assert [(one.operation, one.table) for one in database.faults.report] == [("TransactWriteItems", CHAT)]
    database.clock.advance(0)
    assert by_author(client) == 1


def test_a_late_commit_holds_back_the_entries_of_all_later_ones(database: Database) -> None:
    client = database.client()
    make_chat(client, TableName="other")
    database.clock.freeze()
    database.faults.use(Fault("index-lag", seconds=30, count=1))
    for name in (CHAT, "other"):
        client.put_item(TableName=name, Item=message("r", 1, author={"S": "a"}))
    assert [(one.operation, one.table) for one in database.faults.report] == [("PutItem", CHAT)]
    database.clock.advance(29)
    assert client.scan(TableName="other", IndexName="by_author")["Count"] == 0
    database.clock.advance(1.01)
    assert client.scan(TableName="other", IndexName="by_author")["Count"] == 1


def test_the_longest_lag_counts_that_of_the_settings_too() -> None:
    with server(Settings(data_dir=None, index_delay_seconds=20)) as database:
        client = database.client()
        make_chat(client)
        database.clock.freeze()
        database.faults.use(Fault("index-lag", seconds=5), Fault("index-lag", seconds=10))
        post(client, 1)
        database.clock.advance(19)
        assert by_author(client) == 0
        database.faults.use(Fault("index-lag", seconds=40))
        post(client, 2)
        database.clock.advance(1.01)
        assert by_author(client) == 1
        database.clock.advance(38)
        assert by_author(client) == 1
        database.clock.advance(1.01)
        assert by_author(client) == 2
        database.faults.clear()
        post(client, 3)
        assert by_author(client) == 2
        database.clock.advance(20.01)
        assert by_author(client) == 3


# --- states of tables -------------------------------------------------------------------------------


def test_states_last_and_refuse_what_the_service_refuses(database: Database) -> None:
    client = impatient(database)

    def state(name: str) -> str:
        return str(client.describe_table(TableName=name)["Table"]["TableStatus"])

    database.clock.freeze()
    database.faults.use(Fault("table-states", table="songs", seconds=20))
    make_music(client, "songs")
    make_music(client, "albums")
    assert (state("songs"), state("albums")) == ("CREATING", "ACTIVE")
    assert outcome(client.put_item, TableName="songs", Item=song("a")) == "ResourceNotFoundException"
    assert outcome(client.delete_table, TableName="songs") == "ResourceInUseException"
    database.clock.advance(20.01)
    assert state("songs") == "ACTIVE"
    client.update_table(TableName="songs", **VIEW)
    assert state("songs") == "UPDATING"
    client.put_item(TableName="songs", Item=song("a"))
    database.clock.advance(20.01)
    client.delete_table(TableName="songs")
    assert state("songs") == "DELETING"
    database.clock.advance(20.01)
    assert outcome(state, "songs") == "ResourceNotFoundException"
    client.delete_table(TableName="albums")
    assert outcome(state, "albums") == "ResourceNotFoundException"
    operations = [operation for _, operation in met(database)]
    assert operations[0] == "CreateTable"
    assert operations[-1] == "DeleteTable"
    assert set(operations) == {"CreateTable", "UpdateTable", "DeleteTable"}


def test_a_state_that_has_begun_ends_when_it_was_to_end(database: Database) -> None:
    client = database.client()
    database.clock.freeze()
    with database.faults.during(Fault("table-states", seconds=20)):
        make_music(client, "songs")
    assert client.describe_table(TableName="songs")["Table"]["TableStatus"] == "CREATING"
    make_music(client, "albums")
    assert client.describe_table(TableName="albums")["Table"]["TableStatus"] == "ACTIVE"
    database.clock.advance(20.01)
    assert client.describe_table(TableName="songs")["Table"]["TableStatus"] == "ACTIVE"


def test_only_some_states_last(database: Database) -> None:
    client = database.client()
    database.clock.freeze()
    database.faults.use(Fault("table-states", seconds=20, skip=1, count=1))
    states = []
    for name in ("one", "two", "three"):
        make_music(client, f"songs-{name}")
        states.append(client.describe_table(TableName=f"songs-{name}")["Table"]["TableStatus"])
    assert states == ["ACTIVE", "CREATING", "ACTIVE"]


# --- like_aws ---------------------------------------------------------------------------------------


def test_like_aws_sets_the_delays_that_are_not_set() -> None:
    told = with_delays(Settings(like_aws=True, table_state_delay_seconds=1.5))
    assert told.table_state_delay_seconds == 1.5
    assert told.index_delay_seconds == LIKE_AWS_DELAYS["index_delay_seconds"]
    assert told.ttl_delay_seconds == LIKE_AWS_DELAYS["ttl_delay_seconds"]
    assert with_delays(Settings()) == Settings()


def test_like_aws_tables_indexes_and_expired_items_take_their_time() -> None:
    with server(Settings(data_dir=None, like_aws=True)) as database:
        client = database.client()
        database.clock.freeze()
        make_chat(client)
        assert client.describe_table(TableName=CHAT)["Table"]["TableStatus"] == "CREATING"
        database.clock.advance(5.01)
        assert client.describe_table(TableName=CHAT)["Table"]["TableStatus"] == "ACTIVE"
        post(client, 1)
        assert by_author(client) == 0
        database.clock.advance(0.11)
        assert by_author(client) == 1
        client.update_time_to_live(TableName=CHAT, TimeToLiveSpecification={"Enabled": True, "AttributeName": "gone"})
        database.clock.advance(3600)
        gone = {"N": str(int(database.clock.now()) + 10)}
        client.put_item(TableName=CHAT, Item=message("r", 2, gone=gone))
        database.clock.advance(290)
        assert client.scan(TableName=CHAT)["Count"] == 2
        database.clock.advance(30)
        assert client.scan(TableName=CHAT)["Count"] == 1
        with database.faults.during(Fault("table-states", seconds=1)):
            make_music(client)
            database.clock.advance(2)
            assert client.describe_table(TableName="music")["Table"]["TableStatus"] == "CREATING"
