"""Does the page show the measured figures? Figures in, Markdown out."""

from pathlib import Path

from benchmarks.report import render
from benchmarks.results import (
    BackfillFigure,
    Beside,
    Figure,
    FootprintFigure,
    Ledger,
    Results,
    RunNote,
    SearchFigure,
    Skip,
    StartFigure,
    read_results,
)
from benchmarks.workloads import read_plan

PLAN = read_plan()


def figure(
    server: str, cpu_us: float, *, workload: str = "get", beside: str = "", items: int = 10_000, other: float = 0.0
) -> Figure:
    connections = PLAN.named(workload).connections(16)
    return Figure(server, workload, connections, 400, items, cpu_us, 1e6 / cpu_us, 0.3, 0.7, 0.9, 0.4, other, beside)


def results(*figures: Figure) -> Results:
    note = RunNote("2026-01-01", "python -m benchmarks", "2 cores", 5)
    return Results([note], {"Hashrange": "0.1.0"}, list(figures))


def line_of(page: str, *parts: str) -> str:
    lines = [line for line in page.splitlines() if all(part in line for part in parts)]
    assert lines, f"no line with {parts}"
    return lines[0]


def test_a_target_that_is_met_and_one_that_is_not() -> None:
    page = render(PLAN, results(figure("ours-memory", 20), figure("ours-disk", 30)))
    assert "yes" in line_of(page, "GetItem; memory", "20.0 µs")
    assert "**no**" in line_of(page, "GetItem; disk", "30.0 µs")


def test_the_ratio_is_to_the_best_peer_of_the_same_mode() -> None:
    page = render(
        PLAN,
        results(
            figure("ours-memory", 20),
            figure("dynoxide-memory", 43),
            figure("local-memory", 102),
            figure("dynalite-disk", 10),
        ),
    )
    assert line_of(page, "| GetItem", "43.0").rstrip(" |").endswith("2.1\N{MULTIPLICATION SIGN}")


def test_a_scan_is_compared_at_its_own_connections() -> None:
    page = render(PLAN, results(figure("ours-memory", 2.5, workload="scan")))
    assert "yes" in line_of(page, "Scan, per item", "2.50 µs" if "2.50 µs" in page else "2.5 µs")


def test_cpu_beside_a_scan_is_not_shown_as_an_operation_s() -> None:
    page = render(PLAN, results(figure("ours-disk", 345.6, beside="scan")))
    assert "346" not in page
    assert "yes" in line_of(page, "GetItem p99, disk, while a Scan runs beside")


def test_a_run_on_a_shared_machine_is_marked() -> None:
    assert "machine shared (40%)" in render(PLAN, results(figure("ours-disk", 20, other=0.4)))


def test_growth_is_the_largest_table_over_the_smallest() -> None:
    figures = [figure("ours-disk", cpu, beside=kind, items=items, workload=workload)
               for workload in ("get", "put", "query")
               for kind, largest in (("growth", 33.0), ("growth, same", 22.0))
               for items, cpu in ((10_000_000, largest), (10_000, 20.0))]  # fmt: skip
    page = render(PLAN, results(*figures))
    growth = page.partition("## Growth")[2]
    scattered, same = (
        line_of(growth, "GetItem; items scattered"),
        line_of(growth, "GetItem; 10,000 items, again and again"),
    )
    assert "1.65\N{MULTIPLICATION SIGN}" in scattered
    assert "**no**" in scattered
    assert "1.10\N{MULTIPLICATION SIGN}" in same
    assert "yes" in same
    assert "growth" not in page.partition("## Growth")[0].replace("growth |", "")


def test_skips_carry_their_reason_and_results_survive_a_file(tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    ledger = Ledger(results(), file)
    for record in (
        figure("ours-disk", 20),
        Skip("dynoxide-disk", "Dynoxide, disk", "cargo is not installed"),
        StartFigure("ours-disk", 120, 44),
        FootprintFigure("ours-disk", 100_000, 6, 80, 50),
    ):
        ledger.add(record)
        assert read_results(file) == ledger.results  # after every figure: an interrupted run loses nothing
    page = render(PLAN, read_results(file))
    assert "Dynoxide, disk: cargo is not installed" in page
    assert "yes" in line_of(page, "ready after start; disk", "120 ms")
    assert "yes" in line_of(page, "size on disk", "50.0 MB")
    assert [path.name for path in tmp_path.iterdir()] == ["results.json"]


def test_a_later_run_replaces_what_it_measured_again_and_says_so() -> None:
    both = results(figure("ours-disk", 20), figure("dynoxide-disk", 40))
    both.skips += [Skip("ours-disk", "ours, start", "a typing error"), Skip("local-disk", "local, start", "no Java")]
    assert "Measured" not in render(PLAN, both)
    both.runs.append(RunNote("2026-02-02", "python -m benchmarks --add --ours", "2 cores", 3))
    ledger = Ledger(both, None)
    ledger.forget_skip("ours-disk", "ours, start")
    ledger.add(figure("ours-disk", 25))
    ledger.add(figure("ours-disk", 70, workload="query"))
    assert [skip.reason for skip in both.skips] == ["no Java"]
    found = [(one.server, one.cpu_us, one.run) for one in both.figures]
    assert found == [("ours-disk", 25, 1), ("dynoxide-disk", 40, 0), ("ours-disk", 70, 1)]
    page = render(PLAN, both)
    assert "Put together from 2 runs, the last `python -m benchmarks --add --ours` on 2026-02-02" in page
    assert page.partition("## Targets")[2].lstrip().startswith("Measured on 2026-02-02 by")
    first, _, rest = page.partition("### GetItem")[2].partition("### Query, 20 items")
    assert "on 2026-01-01 by `python -m benchmarks`; on 2026-02-02 by" in first
    assert "Measured on 2026-02-02 by `python -m benchmarks --add --ours`." in rest


def test_a_workload_without_a_target_has_no_row_but_a_further_index_has() -> None:
    page = render(PLAN, results(figure("ours-disk", 50), figure("ours-disk", 120, workload="put-5-indexes")))
    assert "mean of five" not in page
    figures = [figure("ours-disk", cpu, workload=name) for name, cpu in
               (("put", 60), ("put-1-index", 75), ("put-2-indexes", 85), ("put-5-indexes", 115))]  # fmt: skip
    page = render(PLAN, results(*figures))
    targets = page.partition("## Targets")[2].partition("\n## ")[0]
    assert "5 GSIs" not in targets
    assert "yes" in line_of(targets, "each GSI of a PutItem, mean of five; disk", "11.0 µs")
    cells = [cell.strip() for cell in line_of(page.partition("What an index costs")[2], "durable").split("|")]
    assert cells[2:6] == ["15.0", "10.0", "10.0", "11.0"]


def test_what_a_peer_lacks_is_a_dash() -> None:
    figures = [figure(server, 150, workload="transact-write") for server in ("ours-memory", "dynoxide-memory")]
    page = render(PLAN, results(*figures, figure("dynalite-memory", 60)))
    line = line_of(page, "TransactWriteItems of 4 Puts", "150 (6,667)")
    assert [cell.strip() for cell in line.split("|")][4:6] == ["\N{EN DASH}", "1.0\N{MULTIPLICATION SIGN}"]


def test_the_machine_is_compared_by_what_peers_needed_when_targets_were_set() -> None:
    assert PLAN.named("put").peers_at_first_us() == {
        "dynoxide-memory": 84, "dynoxide-disk": 120, "local-memory": 168, "local-disk": 430, "dynalite-memory": 102,
        "dynalite-disk": 144,
    }  # fmt: skip
    assert PLAN.named("scan").peers_at_first_us() == {"dynoxide-memory": 30, "dynoxide-disk": 40, "dynalite-memory": 20}
    assert PLAN.named("transact-write").peers_at_first_us()["local-disk"] == 2460
    figures = [figure(server, cpu) for server, cpu in
               (("ours-disk", 40), ("dynoxide-memory", 86), ("dynoxide-disk", 39), ("local-memory", 153))]  # fmt: skip
    page = render(PLAN, results(*figures)).partition("## This machine")[2].partition("\n## ")[0]
    times = "\N{MULTIPLICATION SIGN}"
    assert [cell.strip() for cell in line_of(page, "| GetItem  ").split("|")][2:6] == [
        f"2.00{times}", f"1.00{times}", f"1.50{times}", f"1.50{times}",
    ]  # fmt: skip
    cells = [cell.strip() for cell in line_of(page, "GetItem; disk").split("|")]
    assert cells[2:6] == ["27.0", "40.0", f"1.50{times}", "40.5"]
    assert "met" not in page.replace("a target is met or not", "")


def test_searches_stand_in_the_order_of_servers() -> None:
    run = results()
    run.searches += [
        SearchFigure(server, 10_000, 3_200.4, 3.5, recall, 1_200, 3_700, 5_500)
        for server, recall in (("dynoxide-memory", 0.984), ("ours-memory", 1))
    ]
    page = render(PLAN, run).partition("## Vector search")[2]
    assert page.index("| Hashrange") < page.index("| Dynoxide")
    cells = [cell.strip() for cell in line_of(page, "| Dynoxide").strip("|").split("|")]
    assert cells == ["Dynoxide, memory", "10,000", "3,200", "3.50", "98.4%", "1,200", "3,700", "5,500"]


def test_a_backfill_is_judged_alone_and_beside_requests() -> None:
    million = PLAN.backfill.items
    run = results()
    run.backfills += [
        BackfillFigure("ours-disk", million, 16, 15),
        BackfillFigure("ours-disk", million, 0, 0, Beside(2000, 2000, 0.2, 0.4, 0.5, 0.9, 3)),
        BackfillFigure("ours-disk", million, 40, 30, Beside(2000, 1990, 0.3, 9, 0.9, 21.5, 80)),
        BackfillFigure("dynoxide-disk", 50_000, 2, 30),
    ]
    page = render(PLAN, run)
    assert "yes" in line_of(page, "GSI on a table of 1,000,000 items; disk", "62,500 items/s")
    assert "**no**" in line_of(page, "p99 beside it, 2,000/s; disk", "21.5 ms")
    assert "25,000" in line_of(page, "| Dynoxide, disk", "50,000")
    assert len({one.identity() for one in run.backfills}) == 4
