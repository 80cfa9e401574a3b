"""The benchmark of triggers: its parts measure what they say, on a server with functions,
without judging any figure.
"""

import random
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.generator import LoadFailed
from benchmarks.resting import load, make_table
from benchmarks.testkit.figures import Findings
from benchmarks.triggers import measuring
from benchmarks.triggers.measuring import (
    DECLARED,
    began_ms,
    delay_ms,
    fill_folder,
    p99_beside_ms,
    reload_ms,
    work_off,
    write_code,
)
from benchmarks.triggers.page import render, target_row
from benchmarks.triggers.served import Meanwhile, Note, Notes, TriggerServer, serving
from benchmarks.triggers.targets import LANGUAGES, OTHERS, TARGETS, Language, Target

EACH_LANGUAGE = [pytest.param(one, marks=pytest.mark.needs("node") if one == "Node" else ()) for one in LANGUAGES]
RECORDS = 250


@pytest.fixture(name="folder", scope="module")
def make_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("code")
    fill_folder(folder, 3)
    return folder


@pytest.fixture(name="served", scope="module")
def make_served(folder: Path) -> Iterator[TriggerServer]:
    with serving("memory", DECLARED.format(folder=folder)) as served:
        yield served


@pytest.fixture(name="stream", scope="module")
def make_stream(served: TriggerServer) -> str:
    """A stream in which records wait."""
    stream = served.create_table("many")
    load(served.client, "many", RECORDS, 0, 0)
    return stream


@pytest.mark.parametrize("language", EACH_LANGUAGE)
def test_a_delay_is_that_of_one_write_and_its_handler(served: TriggerServer, language: Language) -> None:
    table = f"delay-{language}"
    served.create_function(table, language, "note")
    uuid = served.create_mapping(table, served.create_table(table))
    numbers = random.Random(1)
    delays = [delay_ms(served, table, numbers) for _ in range(2)]
    assert all(isinstance(delay, float) for delay in delays)
    served.delete_mapping(uuid)


@pytest.mark.parametrize("language", EACH_LANGUAGE)
def test_all_records_that_wait_are_worked_off_each_time(served: TriggerServer, stream: str, language: Language) -> None:
    function = f"rate-{language}"
    served.create_function(function, language, "note")
    for _ in range(2):
        rate, cost_us = work_off(served, function, stream, RECORDS)
        assert rate > 0
        assert cost_us >= 0


@pytest.mark.parametrize("language", EACH_LANGUAGE)
def test_a_cold_start_is_that_of_another_process(served: TriggerServer, language: Language) -> None:
    function = f"cold-{language}"
    served.create_function(function, language, "begin")
    before = served.server.process.family()
    served.end_environment(function)
    assert began_ms(served, function) > 0
    assert set(served.server.process.family()) - set(before)
    with pytest.raises(LoadFailed, match="the function failed"):
        served.invoke(function, None)


def test_new_code_is_asked_for_after_it_was_written(served: TriggerServer, folder: Path) -> None:
    assert len([*folder.rglob("*.py")]) == 3
    for revision in (1, 2):
        assert reload_ms(served, folder, revision) > 0
    write_code(folder, 1)
    assert served.invoke("reloaded", {})[0] == 1


def test_gets_beside_a_mapping_end_before_its_records_do(
    served: TriggerServer, stream: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_table(served.client, "read")
    load(served.client, "read", measuring.READS, 0, 0)
    served.create_function("note", "Python", "note")
    monkeypatch.setattr(measuring, "READING_RECORDS", RECORDS)
    with pytest.raises(LoadFailed, match="were too few"):
        p99_beside_ms(served, stream)
    served.notes.drain()
    monkeypatch.setattr(measuring, "READING_SECONDS", 0.1)
    monkeypatch.setattr(measuring, "READING_RECORDS", 10**6)
    monkeypatch.setattr(served, "create_mapping", lambda *_, **__: start_writer(served.notes))
    monkeypatch.setattr(served, "delete_mapping", threading.Event.set)
    assert p99_beside_ms(served, stream) > 0


def start_writer(notes: Notes) -> threading.Event:
    """Write notes until the event is set, as a mapping's handlers would."""
    is_over = threading.Event()

    def write() -> None:
        with notes.path.open("wb", buffering=0) as pipe:
            while not is_over.is_set():
                pipe.write(b"1.5 0\n")

    threading.Thread(target=write, daemon=True).start()
    return is_over


def test_notes_are_read_in_pieces_and_missed_when_there_are_none(tmp_path: Path) -> None:
    notes = Notes(tmp_path / "notes")
    with notes.path.open("wb", buffering=0) as pipe:
        pipe.write(b"1.5 2\n2.5 ")
        assert notes.next() == Note(1.5, 2)
        with pytest.raises(LoadFailed, match="no handler began"):
            notes.next(0)
        pipe.write(b"30\n3.5 1\n4")
        assert notes.next() == Note(2.5, 30)
        notes.drain()
        pipe.write(b"5.5 6\n")
        assert notes.next() == Note(5.5, 6)
    notes.close()


def test_others_share_is_a_share(served: TriggerServer) -> None:
    meanwhile = Meanwhile(served.server)
    served.client.call("ListTables", {})
    assert meanwhile.other_share() >= 0


def test_every_part_has_its_figures_and_the_page_all_of_them() -> None:
    names = [target.figure for target in TARGETS] + [*OTHERS]
    assert len(names) == len({*names})
    findings = Findings()
    for target in TARGETS:
        findings.add(target.figure, [target.bound], [0.0])
    for name in OTHERS:
        findings.add(name, [7.0], [0.5])
    findings.skips["gets"] = "the machine is too slow"
    page = render(findings)
    assert page.count("| yes |") == len(TARGETS)
    assert "| **no** |" not in page
    assert page.count("machine shared (50%)") == len(OTHERS)
    assert all(
        f"| {title} " in page for title in [one.title for one in TARGETS] + [title for title, _ in OTHERS.values()]
    )
    assert page.endswith("- Not measured: gets: the machine is too slow\n")


@pytest.mark.parametrize(
    ("is_least", "value", "wanted", "met"),
    [
        (False, 20.0, "≤ 20.0 ms", "yes"),
        (False, 21.0, "≤ 20.0 ms", "**no**"),
        (True, 20.0, "≥ 20.0 ms", "yes"),
        (True, 19.0, "≥ 20.0 ms", "**no**"),
    ],
)
def test_a_target_is_an_upper_or_a_lower_bound(is_least: bool, value: float, wanted: str, met: str) -> None:
    findings = Findings()
    findings.add("x", [value - 1, value, value + 2], [0.0])
    title, bound, measured, is_met, span, shared = target_row(
        Target("this", 20, "ms", "x", is_least=is_least), findings.figures["x"]
    )
    assert (title, bound, measured, is_met) == ("this", wanted, f"{value} ms", met)
    assert (span, shared) == (f"{value - 1} to {value + 2}", "")
