"""How are the figures of triggers measured? Each part starts servers of its own, and repeats what it measures."""

import random
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from benchmarks.generator import LoadFailed
from benchmarks.resting import idle_percent, load, make_table, steady_gets
from benchmarks.testkit.figures import Findings
from benchmarks.triggers.served import NOT_PINNED, Meanwhile, TriggerServer, serving
from benchmarks.triggers.targets import (
    BATCH_RECORDS,
    FILES_MANY,
    KINDS,
    LANGUAGES,
    MAPPINGS,
    alone_name,
    beside_name,
    cold_name,
    cost_name,
    delay_name,
    empty_name,
    idle_name,
    rate_name,
    ratio_name,
    reload_name,
)

SEED = 7
TEXT = "x" * 350
"""Makes an item of some 400 bytes."""
WRITES_PER_ROUND = 40
PAUSE_SECONDS = (0.005, 0.03)
"""Between a record that was handled and the next write."""
STARTS_PER_ROUND, TURNS_PER_ROUND = 5, 2
IDLE_TIMES = 3
READS = 1_000
"""Items that are read beside a mapping."""
READING_SECONDS, READING_RECORDS = 3.0, 300_000
"""Time of GetItems, and records that wait meanwhile: more than a mapping delivers in that time."""
DECLARED = """
[functions.reloaded]
code = "{folder}"
handler = "app.begin"
timeout = 30
"""
CODE = """
import time

def begin(event, context):
    return [{revision}, time.monotonic()]
"""


class Extent(NamedTuple):
    """How much is measured."""

    rounds: int
    records: int
    """Records that wait when a mapping begins."""


def measure_delays(extent: Extent, findings: Findings) -> None:
    """From PutItem's reply to the begin of the handler; each figure is the median of the medians of rounds."""
    for kind in KINDS:
        with serving(kind) as server:
            for language in LANGUAGES:
                server.create_function(language, language, "note")
                server.create_mapping(language, server.create_table(language))
            numbers = random.Random(SEED)
            found: dict[str, list[float]] = {language: [] for language in LANGUAGES}
            meanwhile = Meanwhile(server.server)
            for turn in range(1 + extent.rounds):
                for language in LANGUAGES:
                    delays = [delay_ms(server, language, numbers) for _ in range(WRITES_PER_ROUND)]
                    if turn:
                        found[language].append(statistics.median(delays))
            for language in LANGUAGES:
                findings.add(delay_name(kind, language), found[language], [meanwhile.other_share()])


def delay_ms(server: TriggerServer, table: str, numbers: random.Random) -> float:
    """Write an item; returns milliseconds from the reply to the begin of the handler.
    Below 0: the handler was first.
    """
    time.sleep(numbers.uniform(*PAUSE_SECONDS))
    item = {"pk": {"S": f"key-{numbers.randrange(10**6)}"}, "text": {"S": TEXT}}
    server.client.call("PutItem", {"TableName": table, "Item": item})
    acknowledged_seconds = time.monotonic()
    return (server.notes.next().at_seconds - acknowledged_seconds) * 1000


def measure_starts(extent: Extent, findings: Findings) -> None:
    """Invocations for which an environment starts: after the one before has ended."""
    with serving("memory") as server:
        meanwhile = Meanwhile(server.server)
        for language in LANGUAGES:
            server.create_function(language, language, "begin")
            found = []
            for _ in range(extent.rounds * STARTS_PER_ROUND):
                server.end_environment(language)
                found.append(began_ms(server, language))
            findings.add(cold_name(language), found, [meanwhile.other_share()])


def began_ms(server: TriggerServer, function: str) -> float:
    """Invoke a function; returns milliseconds until its handler begins."""
    asked_seconds = time.monotonic()
    began_seconds = server.invoke(function, {"ends": False})
    return (float(began_seconds) - asked_seconds) * 1000


def measure_reloads(extent: Extent, findings: Findings) -> None:
    """Invocations after a file in a folder of code has changed: until the handler of the new code begins."""
    for files in (1, FILES_MANY):
        with tempfile.TemporaryDirectory() as folder:
            code = Path(folder)
            fill_folder(code, files)
            with serving("memory", DECLARED.format(folder=folder)) as server:
                meanwhile = Meanwhile(server.server)
                found = [reload_ms(server, code, 1 + turn) for turn in range(extent.rounds * STARTS_PER_ROUND)]
                findings.add(reload_name(files), found, [meanwhile.other_share()])


def fill_folder(folder: Path, files: int) -> None:
    """Write this many modules, the handler's included, into folders of at most 100."""
    write_code(folder, 0)
    for number in range(files - 1):
        package = folder / f"package_{number // 100}"
        package.mkdir(exist_ok=True)
        (package / f"module_{number}.py").write_text("VALUE = 1\n", encoding="utf-8")


def write_code(folder: Path, revision: int) -> None:
    """Write the module of the handler."""
    (folder / "app.py").write_text(CODE.format(revision=revision), encoding="utf-8")


def reload_ms(server: TriggerServer, folder: Path, revision: int) -> float:
    """Change the code; returns milliseconds until an invocation's handler begins.
    Raises LoadFailed if it is the old one.
    """
    write_code(folder, revision)
    asked_seconds = time.monotonic()
    found, began_seconds = server.invoke("reloaded", {})
    if found != revision:
        raise LoadFailed(f"revision {found} of the code ran instead of {revision}")
    return (float(began_seconds) - asked_seconds) * 1000


def measure_rates(extent: Extent, findings: Findings) -> None:
    """Records a second while a mapping works off what waits, and the server's own CPU for each of them."""
    for kind in KINDS:
        with serving(kind) as server:
            stream = server.create_table("many")
            load(server.client, "many", extent.records, 0, 0)
            rates: dict[str, list[float]] = {language: [] for language in LANGUAGES}
            costs: dict[str, list[float]] = {language: [] for language in LANGUAGES}
            for language in LANGUAGES:
                server.create_function(language, language, "note")
            meanwhile = Meanwhile(server.server)
            for _ in range(extent.rounds):
                for language in LANGUAGES:
                    rate, cost_us = work_off(server, language, stream, extent.records)
                    rates[language].append(rate)
                    costs[language].append(cost_us)
            share = meanwhile.other_share()
            for language in LANGUAGES:
                findings.add(rate_name(kind, language), rates[language], [share])
                findings.add(cost_name(kind, language), costs[language], [share])


def work_off(server: TriggerServer, function: str, stream: str, records: int) -> tuple[float, float]:
    """Map a stream that holds this many records until all are handled; returns records a second,
    and the server's µs of CPU for each.
    """
    before_seconds = server.own_cpu_seconds()
    uuid = server.create_mapping(function, stream, BatchSize=BATCH_RECORDS)
    first = last = server.notes.next()
    count = first.records
    while count < records:
        last = server.notes.next()
        count += last.records
    cost_us = (server.own_cpu_seconds() - before_seconds) * 1e6 / records
    server.delete_mapping(uuid)
    return (count - last.records) / (last.at_seconds - first.at_seconds), cost_us


def measure_idle(extent: Extent, findings: Findings) -> None:
    """The CPU of a server with mappings that have delivered a record each, environments included,
    beside that of an empty one.
    """
    for kind in KINDS:
        with serving(kind) as server:
            meanwhile = Meanwhile(server.server)
            findings.add(empty_name(kind), [idle_percent(server.server.process)], [meanwhile.other_share()])
            for number in range(MAPPINGS):
                name = f"idle-{number}"
                stream = server.create_table(name)
                server.create_function(name, "Python", "note")
                server.create_mapping(name, stream)
                server.client.call("PutItem", {"TableName": name, "Item": {"pk": {"S": "a"}}})
                server.notes.next()
            meanwhile = Meanwhile(server.server)
            found = [idle_percent(server.server.process) for _ in range(IDLE_TIMES)]
            findings.add(idle_name(kind), found, [meanwhile.other_share()])


def measure_gets(extent: Extent, findings: Findings) -> None:
    """p99 of GetItems at a fixed rate, in turns alone and beside a mapping that works off what waits."""
    for kind in KINDS:
        with serving(kind) as server:
            stream = server.create_table("many")
            load(server.client, "many", READING_RECORDS, 0, 0)
            make_table(server.client, "read")
            load(server.client, "read", READS, 0, 0)
            server.create_function("note", "Python", "note")
            alone, beside = [], []
            meanwhile = Meanwhile(server.server)
            for turn in range(1 + extent.rounds * TURNS_PER_ROUND):
                alone_ms, beside_ms = p99_alone_ms(server), p99_beside_ms(server, stream)
                if turn:
                    alone.append(alone_ms)
                    beside.append(beside_ms)
            share = meanwhile.other_share()
            findings.add(alone_name(kind), alone, [share])
            findings.add(beside_name(kind), beside, [share])
            findings.add(ratio_name(kind), [one / other for one, other in zip(beside, alone, strict=True)], [share])


def p99_alone_ms(server: TriggerServer) -> float:
    """p99 of GetItems while nothing else is done."""
    reading = steady_gets(server.client, server.server.folder, NOT_PINNED)
    reading.run_first()
    time.sleep(READING_SECONDS)
    return reading.end().seen[0].p99_ms


def p99_beside_ms(server: TriggerServer, stream: str) -> float:
    """p99 of GetItems while a mapping delivers as fast as it can. Raises LoadFailed if it is done too early."""
    uuid = server.create_mapping("note", stream, BatchSize=BATCH_RECORDS)
    count = server.notes.next().records
    reading = steady_gets(server.client, server.server.folder, NOT_PINNED)
    reading.run_first()
    try:
        ends_seconds = time.monotonic() + READING_SECONDS
        while time.monotonic() < ends_seconds:
            count += server.notes.next().records
            if count >= READING_RECORDS:
                raise LoadFailed(f"{READING_RECORDS:,} records were too few")
    except BaseException:
        reading.kill()
        raise
    p99_ms = reading.end().seen[0].p99_ms
    server.delete_mapping(uuid)
    server.notes.drain()
    return p99_ms


PARTS: dict[str, Callable[[Extent, Findings], None]] = {
    "delays": measure_delays,
    "starts": measure_starts,
    "reloads": measure_reloads,
    "rates": measure_rates,
    "idle": measure_idle,
    "gets": measure_gets,
}
