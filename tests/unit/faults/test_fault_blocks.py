"""Faults for a block of a test: what requests meet within it and after it, and the report of each block."""

import pytest

from hashrange.faults.fault import Fault, FaultsError
from hashrange.testing.database import Database
from tests.unit.faults.kit import impatient, outcome

LIST = "ListTables"


def list_tables(database: Database) -> str:
    return outcome(impatient(database).list_tables)


def test_a_block_removes_its_faults_even_if_it_fails(database: Database) -> None:
    with pytest.raises(KeyError), database.faults.during(Fault("error", operation=LIST), seed=3) as faults:
        assert list_tables(database) == "InternalServerError"
        assert len(faults.report) == 1
        raise KeyError
    assert list_tables(database) == "done"
    assert database.faults.report == []


def test_after_a_block_the_former_faults_go_on_where_they_stood(database: Database) -> None:
    database.faults.use(Fault("error", operation=LIST, skip=1, count=2), Fault("slow", seconds=0), seed=5)
    assert list_tables(database) == "done"
    assert list_tables(database) == "InternalServerError"
    before = database.faults.report
    with database.faults.during(Fault("error", operation="Scan")):
        assert list_tables(database) == "done"
        assert database.faults.report == []
    assert database.faults.report == before
    assert [list_tables(database) for _ in range(3)] == ["InternalServerError", "done", "done"]


def test_the_report_of_a_block_stays_readable(own_database: Database) -> None:
    database = own_database
    with database.faults.during(Fault("error", operation=LIST)) as outer:
        list_tables(database)
        with database.faults.during(Fault("slow", seconds=0)) as inner:
            list_tables(database)
            assert [one.kind for one in inner.report] == ["slow"]
            assert [one.kind for one in outer.report] == ["error"]
        with database.faults.during() as none:
            assert list_tables(database) == "done"
        list_tables(database)
    assert [one.kind for one in outer.report] == ["error"] * 2
    assert [one.kind for one in inner.report] == ["slow"]
    assert none.report == []
    database.close()
    assert len(outer.report) == 2


def test_faults_that_are_set_in_a_block_end_with_it(database: Database) -> None:
    database.faults.use(Fault("throttle"))
    with database.faults.during(Fault("error", operation=LIST)) as outer:
        database.faults.use(Fault("error", operation="Scan"))
        assert list_tables(database) == "done"
        with database.faults.during(Fault("error", operation=LIST)):
            database.faults.clear()
            assert list_tables(database) == "done"
        assert outcome(impatient(database).scan, TableName="music") == "InternalServerError"
    assert outcome(impatient(database).scan, TableName="music") == "ThrottlingException"
    assert outer.report == []


def test_nothing_returns_after_a_reset_or_a_restore_in_a_block(database: Database) -> None:
    snapshot = database.snapshot()
    for replace in (database.reset, lambda: database.restore(snapshot)):
        database.faults.use(Fault("error", operation=LIST))
        with (
            database.faults.during(Fault("error", operation=LIST, count=1)),
            database.faults.during(Fault("error", operation=LIST)),
        ):
            replace()
            assert list_tables(database) == "done"
        assert list_tables(database) == "done"
        assert database.faults.report == []


def test_blocks_of_several_threads_may_end_in_any_order(database: Database) -> None:
    database.faults.use(Fault("slow", seconds=0, operation=LIST))
    first = database.faults.during(Fault("error", operation=LIST))
    second = database.faults.during(Fault("throttle", operation="Scan"))
    third = database.faults.during(Fault("error", operation="GetItem"))
    for block in (first, second, third):
        block.__enter__()
    second.__exit__(None, None, None)
    assert database._process.service.requests.drawing is not None
    assert database._process.service.requests.drawing.faults.faults[0].operation == "GetItem"
    first.__exit__(None, None, None)
    third.__exit__(None, None, None)
    assert list_tables(database) == "done"
    assert [one.kind for one in database.faults.report] == ["slow"]


def test_a_block_whose_faults_are_refused_changes_nothing(database: Database) -> None:
    database.faults.use(Fault("error", operation=LIST))
    with pytest.raises(FaultsError), database.faults.during(Fault("error", operation="Nothing")):
        pass
    assert list_tables(database) == "InternalServerError"
