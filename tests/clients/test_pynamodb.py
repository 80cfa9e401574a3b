"""A small wiki with PynamoDB: its models, indexes, versions, batches and transactions."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from pynamodb.connection import Connection
from pynamodb.exceptions import GetError, PutError, TransactWriteError, UpdateError
from pynamodb.transactions import TransactGet, TransactWrite

from tests.clients.conftest import Lend
from tests.clients.pynamodb_wiki import Draft, Entry, Page, connect, link, page

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
PATHS = [f"p{number:02}" for number in range(60)]


@pytest.fixture(scope="module")
def endpoint(lend: Lend) -> str:
    """Endpoint of a server in memory."""
    return lend().endpoint


@pytest.fixture
def wiki(endpoint: str) -> Iterator[None]:
    """An empty wiki."""
    connect(endpoint)
    Page.create_table(wait=True)
    yield
    if Entry.exists():
        Entry.delete_table()


@pytest.fixture
def connection(endpoint: str) -> Connection:
    """A connection, which PynamoDB's transactions need."""
    made = Connection("eu-west-1", endpoint)
    made.session.set_credentials("key", "secret")
    return made


@pytest.fixture
def pages(wiki: None) -> None:
    """60 pages by two authors, written in batches."""
    with Page.batch_write() as batch:
        for number, path in enumerate(PATHS):
            author = "ada" if number % 3 else "alan"
            batch.save(page(path, author, number, START - timedelta(hours=number)))


def test_the_table_is_described(wiki: None) -> None:
    table = Page.describe_table()
    assert table["TableStatus"] == "ACTIVE"
    assert table["GlobalSecondaryIndexes"][0]["Projection"]["NonKeyAttributes"] == ["cls", "changed"]
    assert table["LocalSecondaryIndexes"][0]["IndexName"] == "by-time"
    assert Page.exists()
    Entry.delete_table()
    assert not Page.exists()
    with pytest.raises(GetError) as unknown:
        Page.get("home", "start")
    assert unknown.value.cause_response_code == "ResourceNotFoundException"


def test_an_item_comes_back_as_it_was(wiki: None) -> None:
    made = page("start", "ada", 3, START, tags={"a", "b"}, links=[link("end")], properties={"x": [1, None]})
    made.save()
    found = Entry.get("home", "start", consistent_read=True)
    assert isinstance(found, Page)
    assert found.serialize() == made.serialize()
    assert (found.version, found.links[0].count, found.changed) == (1, 1, START)
    Draft("home", "idea", text="…", changed=START, expires=timedelta(days=1)).save()
    assert [type(entry) for entry in Entry.query("home")] == [Draft, Page]


def test_a_stale_version_is_refused(wiki: None) -> None:
    page("start", "ada", 3, START).save()
    mine, yours = Page.get("home", "start"), Page.get("home", "start")
    mine.words = 4
    mine.save()
    yours.words = 5
    with pytest.raises(PutError) as refused:
        yours.save()
    assert refused.value.cause_response_code == "ConditionalCheckFailedException"
    mine.update([Page.words.add(1), Page.links.set(Page.links.append([link("end")])), Page.tags.add({"new"})])
    assert (mine.version, mine.words, mine.tags, mine.links[0].to) == (3, 5, {"new"}, "end")
    with pytest.raises(UpdateError) as refused_too:
        mine.update([Page.words.set(0)], condition=Page.words.between(6, 9) | Page.tags.contains("old"))
    assert refused_too.value.cause_response_message == "The conditional request failed"


def test_indexes_are_read(pages: None) -> None:
    found = Page.by_author.query("alan", Page.words >= 30, scan_index_forward=False, page_size=4)
    assert [entry.path for entry in found] == ["p57", "p54", "p51", "p48", "p45", "p42", "p39", "p36", "p33", "p30"]
    since = START - timedelta(hours=3)
    recent = Entry.by_time.query("home", Entry.changed > since, consistent_read=True)
    assert [entry.path for entry in recent] == ["p02", "p01", "p00"]
    assert Page.by_author.count("ada", filter_condition=Page.path.startswith("p1")) == 7
    first = Page.by_author.query("ada", limit=5)
    assert [entry.words for entry in first] == [1, 2, 4, 5, 7]
    assert first.last_evaluated_key is not None
    rest = Page.by_author.query("ada", limit=2, last_evaluated_key=first.last_evaluated_key)
    assert [entry.words for entry in rest] == [8, 10]


def test_many_are_read_and_deleted(pages: None) -> None:
    asked = [("home", path) for path in [*PATHS, "none"]]
    assert sorted(entry.path for entry in Page.batch_get(asked, consistent_read=True)) == PATHS
    assert sum(1 for _ in Page.scan(Page.words < 10, page_size=7)) == 10
    with Page.batch_write() as batch:
        for entry in Page.query("home", attributes_to_get=["space", "path"]):
            batch.delete(entry)
    assert Page.count("home") == 0


def test_transactions(pages: None, connection: Connection) -> None:
    with TransactWrite(client_request_token="once", connection=connection) as transaction:
        transaction.save(page("made", "ada", 1, START), condition=Page.path.does_not_exist())
        transaction.update(Page("home", "p00"), [Page.words.add(100)], add_version_condition=False)
        transaction.delete(Page("home", "p01"), add_version_condition=False)
        transaction.condition_check(Page, "home", "p02", condition=Page.author == "ada")
    with TransactGet(connection=connection) as reading:
        some = [reading.get(Page, "home", path) for path in ("made", "p00")]
    assert [future.get().words for future in some] == [1, 100]

    def again() -> None:
        with TransactWrite(connection=connection) as transaction:
            transaction.delete(Page("home", "p03"), add_version_condition=False)
            transaction.save(page("made", "alan", 2, START), condition=Page.path.does_not_exist())

    with pytest.raises(TransactWriteError) as cancelled:
        again()
    reasons = [reason.code if reason else None for reason in cancelled.value.cancellation_reasons]
    assert (cancelled.value.cause_response_code, reasons) == (
        "TransactionCanceledException",
        [None, "ConditionalCheckFailed"],
    )
    assert [Page.count("home", Page.path == path) for path in ("p01", "p03", "made")] == [0, 1, 1]
