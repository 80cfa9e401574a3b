"""A fork ends with its database, whichever way that ends; nothing of it stays that its user would have to close."""

import threading
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hashrange.service import opening
from hashrange.settings import Settings
from hashrange.testing import database as database_module
from hashrange.testing import mock_dynamodb, server
from hashrange.testing.database import Database
from hashrange.testing.in_process import InProcess
from tests.unit.testing.music import create
from tests.unit.testing.suites import run_pytest


@pytest.fixture(autouse=True)
def no_thread_stays(only_new_garbage: None) -> Iterator[None]:
    before = set(threading.enumerate())
    yield
    assert set(threading.enumerate()) <= before


def assert_ended(*databases: Database) -> None:
    """Each answers like a closed database, and may be closed once more."""
    for database in databases:
        for use in (database.client().list_tables, database.snapshot, database.fork, lambda one=database: one.endpoint):
            with pytest.raises(RuntimeError, match="This database is closed"):
                use()
        database.close()
        assert not database._process._thread.is_alive()


def with_block(settings: Settings) -> list[Database]:
    with server(settings) as database:
        return family_of(database)


def close(settings: Settings) -> list[Database]:
    database = Database(settings)
    database.start()
    family = family_of(database)
    database.close()
    return family


def block_of_a_mock(_: Settings) -> list[Database]:
    with mock_dynamodb() as database:
        return family_of(database)


def family_of(database: Database) -> list[Database]:
    """The database, two forks, one of them used, and a fork of a fork."""
    create(database.client())
    first, second = database.fork(), database.fork()
    assert first.endpoint != database.endpoint
    return [database, first, second, second.fork()]


@pytest.mark.parametrize("is_on_disk", [False, True], ids=["memory", "disk"])
@pytest.mark.parametrize("end", [with_block, close, block_of_a_mock])
def test_forks_end_with_their_database(
    tmp_path: Path, is_on_disk: bool, end: Callable[[Settings], list[Database]]
) -> None:
    settings = Settings(data_dir=str(tmp_path / "data") if is_on_disk else None, port=0)
    assert_ended(*end(settings))
    assert not list(tmp_path.glob("data/copies/*"))
    assert_ended(*with_block(Settings(data_dir=str(tmp_path / "other"))))


def test_a_fork_that_ends_ends_its_own_forks_and_no_others() -> None:
    with server() as database:
        _, first, second, grandchild = family_of(database)
        second.close()
        assert_ended(second, grandchild)
        assert first.client().list_tables()["TableNames"] == ["music"]
        assert database.client().list_tables()["TableNames"] == ["music"]


def test_a_fork_that_its_user_has_closed_is_forgotten() -> None:
    with server() as database:
        with database.fork() as fork, fork.fork():
            assert database._process.forks == {fork._process}
        forgotten = weakref.ref(fork._process)
        assert database._process.forks == fork._process.forks == set()
        del fork
        assert forgotten() is None


def test_each_fork_ends_before_its_original(monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[InProcess] = []
    end = InProcess.end

    def seen(process: InProcess) -> None:
        end(process)
        ended.append(process)

    with server() as database:
        _, first, second, grandchild = family_of(database)
        monkeypatch.setattr(InProcess, "end", seen)
    assert sorted(map(id, ended)) == sorted(id(one._process) for one in (database, first, second, grandchild))
    assert ended[-1] is database._process
    assert ended.index(grandchild._process) < ended.index(second._process)


def test_the_others_end_when_the_wait_for_one_is_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    end = InProcess.end

    def interrupted(process: InProcess) -> None:
        end(process)
        if process is grandchild._process:
            raise KeyboardInterrupt

    family: list[Database] = []
    with pytest.raises(KeyboardInterrupt), server() as database:
        family = family_of(database)
        grandchild = family[-1]
        monkeypatch.setattr(InProcess, "end", interrupted)
    assert not [one for one in family if one._process._thread.is_alive()]


def test_a_database_that_is_closed_while_it_is_forked_gets_no_fork(monkeypatch: pytest.MonkeyPatch) -> None:
    open_fork = opening.open_fork

    async def open_later(*arguments: Any) -> Any:
        database.close()
        return await open_fork(*arguments)

    with server() as database:
        monkeypatch.setattr(database_module, "open_fork", open_later)
        with pytest.raises(RuntimeError, match="This database is closed"):
            database.fork()


SUITE = """
import threading
import pytest

kept = []

@pytest.fixture(scope="module")
def other(hashrange_database):
    return hashrange_database.fork()

@pytest.mark.parametrize("number", range(3))
def test_a_fork(other, hashrange, number):
    for fork in kept:
        with pytest.raises(RuntimeError, match="This database is closed"):
            fork.client().list_tables()
    names = [thread.name for thread in threading.enumerate()]
    assert names.count("hashrange") == 2, names
    assert other.client().list_tables()["TableNames"] == []
    kept[:] = [hashrange.fork(), hashrange.fork()]
    kept.append(kept[0].fork())
    assert [fork.client().list_tables()["TableNames"] for fork in kept] == [[]] * 3
    assert number != 1

def test_without_a_database():
    assert [thread.name for thread in threading.enumerate()].count("hashrange") == 2
"""
ITS_OWN = """
from hashrange.testing import server

@pytest.fixture(scope="session")
def hashrange_database():
    with server() as database:
        yield database
"""


@pytest.mark.parametrize("own", ["", ITS_OWN], ids=["plugin's database", "suite's database"])
def test_forks_of_a_test_end_before_the_next_test_begins(tmp_path: Path, own: str) -> None:
    """Also those of a test that fails; a fork that a fixture of a wider scope has made goes on."""
    said = run_pytest(tmp_path, SUITE + own)
    assert "1 failed, 3 passed" in said, said
    assert "assert 1 != 1" in said, said
