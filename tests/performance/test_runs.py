"""Does a run work as intended? Rates and replies of the steady generator, the plan's estimate,
skipped servers, no leftovers.
"""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import running as running_module
from benchmarks.__main__ import arguments_parser, is_partial, make_choice, section_names
from benchmarks.estimate import describe, estimate
from benchmarks.generator import LoadFailed
from benchmarks.prepare import write_requests
from benchmarks.processes import Process
from benchmarks.sections import not_too_slow
from benchmarks.steady import percentile, read_requests, status_when_whole, summary
from benchmarks.workloads import SECTION_NAMES, read_plan
from tests.support.waiting import wait_until

PLAN = read_plan()
ROOT = Path(__file__).resolve().parents[2]


def total_minutes(line: str) -> float:
    arguments = arguments_parser(PLAN).parse_args(shlex.split(line))
    choice = make_choice(arguments, PLAN)
    return sum(estimate(choice, section_names(arguments), full=arguments.full, huge=arguments.huge).values()) / 60


def test_everything_ends_within_35_minutes_by_the_plan() -> None:
    assert 10 < total_minutes("") < 35
    assert total_minutes("--full") > total_minutes("") + 2
    assert total_minutes("--huge") > total_minutes("") + 5
    assert total_minutes("--quick") < 3


def test_the_plan_names_its_sections() -> None:
    arguments = arguments_parser(PLAN).parse_args(["--sections", "load,start"])
    text = describe(estimate(make_choice(arguments, PLAN), section_names(arguments), full=True, huge=False))
    assert text.startswith("plan, in minutes: load ")
    assert "start" in text
    assert "load, 1,000,000 items" in text


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("", False),
        ("--seconds 2 --full", False),
        ("--quick", True),
        ("--ours", True),
        ("--items 1000", True),
        ("--sizes 400", True),
    ],
)
def test_a_narrowed_run_is_no_page_of_its_own(line: str, expected: bool) -> None:
    assert is_partial(arguments_parser(PLAN).parse_args(shlex.split(line))) is expected


def test_a_small_run_makes_every_table_small() -> None:
    plan = make_choice(arguments_parser(PLAN).parse_args(["--items", "700"]), PLAN).plan
    backfill = plan.backfill
    assert {plan.table_items, plan.footprint.items, backfill.items, backfill.items_peers} == {700}
    assert plan.searched_vectors.items == 700
    assert section_names(arguments_parser(PLAN).parse_args([])) == list(SECTION_NAMES)


def test_a_slow_load_is_ended_with_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    moments = iter([0.0, 10.0, 70.0, 100.0, 210.0])
    monkeypatch.setattr("benchmarks.sections.time.monotonic", lambda: next(moments))
    seen: list[int] = []
    on_progress = not_too_slow(1_000_000, 5_000, seen.append)  # so 200 seconds
    for written in (1_000, 250_000, 400_000):  # slow, but just begun; then slow, but above half of the rate
        on_progress(written)
    with pytest.raises(LoadFailed, match="it loads 4,000 items a second, fewer than 5,000"):
        on_progress(840_000)
    assert seen == [1_000, 250_000, 400_000]


def test_a_hopeless_load_is_ended_early(monkeypatch: pytest.MonkeyPatch) -> None:
    moments = iter([0.0, 61.0])
    monkeypatch.setattr("benchmarks.sections.time.monotonic", lambda: next(moments))
    with pytest.raises(LoadFailed, match="it loads 2,000 items a second"):
        not_too_slow(1_000_000, 5_000, lambda _: None)(122_000)


@pytest.mark.parametrize(
    ("received", "expected"),
    [
        (b"HTTP/1.1 200 OK\r\ncontent-", None),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabc", None),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabcd", 200),
        (b"HTTP/1.1 400 Bad\r\ncontent-length: 0\r\n\r\n", 400),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", None),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", 200),
    ],
)
def test_a_reply_is_whole_when_its_end_has_come(received: bytes, expected: int | None) -> None:
    assert status_when_whole(received) == expected


def test_requests_survive_their_file(tmp_path: Path) -> None:
    requests = [b"POST / HTTP/1.1\r\n\r\n{}\n12\n", b"x" * 5000, b"1"]
    write_requests(tmp_path / "some.requests", requests)
    assert read_requests(tmp_path / "some.requests") == requests


def test_percentiles_are_of_what_was_seen() -> None:
    assert percentile([1.0], 0.99) == 1.0
    assert percentile([float(value) for value in range(1, 101)], 0.99) == 99.0
    seen = summary([3.0, 1.0, 2.0, 40.0], refused=1)
    assert (seen.requests, seen.refused, seen.p50_ms, seen.p99_ms, seen.max_ms) == (4, 1, 2.0, 40.0, 40.0)
    assert summary([], 0).max_ms == 0


def test_a_killed_harness_leaves_no_server(tmp_path: Path) -> None:
    """Even after SIGKILL of the harness: the kernel ends its servers."""
    script = (
        "import sys, time; from pathlib import Path; from benchmarks.processes import Process\n"
        "process = Process(['sleep', '600'], Path(sys.argv[1]), '', {})\n"
        "print(process.family()[0], flush=True)\n"
        "time.sleep(600)\n"
    )
    command = [sys.executable, "-c", script, str(tmp_path)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as harness:
        assert harness.stdout is not None
        server = int(harness.stdout.readline())
        assert "sleep" in Path(f"/proc/{server}/cmdline").read_text()
        harness.kill()
    wait_until(lambda: not is_alive(server))


def is_alive(pid: int) -> bool:
    """True if the process runs; a zombie, for which nobody has waited yet, does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_folders_of_killed_runs_go_and_others_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with subprocess.Popen(["true"]) as gone:
        pass
    names = [f"ours-disk-{gone.pid}-abc", f"ours-disk-{os.getpid()}-abc", "something-else"]
    for name in names:
        (tmp_path / "run" / name / "data").mkdir(parents=True)
    monkeypatch.setattr(running_module, "home", lambda: tmp_path)
    running_module.remove_leftovers()
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == sorted(names[1:])


def test_a_process_that_ended_is_said_to_have(tmp_path: Path) -> None:
    process = Process(["sh", "-c", "echo it is over"], tmp_path / "place", "", {})
    process.stop()
    assert not process.is_running()
