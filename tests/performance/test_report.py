"""Does the page say what was measured? Figures in, Markdown out."""

from pathlib import Path

from benchmarks.report import render
from benchmarks.results import Figure, FootprintFigure, Results, Skip, StartFigure, read_results
from benchmarks.workloads import read_plan

PLAN = read_plan()


def figure(
    server: str, cpu_us: float, *, workload: str = "get", beside: str = "", items: int = 10_000, other: float = 0.0
) -> Figure:
    connections = PLAN.named(workload).connections(16)
    return Figure(server, workload, connections, 400, items, cpu_us, 1e6 / cpu_us, 0.3, 0.7, 0.9, 0.4, other, beside)


def results(*figures: Figure) -> Results:
    return Results("2026-01-01", "2 cores", "python -m benchmarks", 5, {"Hashrange": "0.1.0"}, list(figures))


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
    figures = [figure("ours-disk", cpu, beside="growth", items=items, workload=workload)
               for workload in ("get", "put", "query") for items, cpu in ((10_000_000, 33.0), (10_000, 20.0))]  # fmt: skip
    page = render(PLAN, results(*figures))
    line = line_of(page.partition("## Growth")[2], "GetItem")
    assert "1.65\N{MULTIPLICATION SIGN}" in line
    assert "**no**" in line


def test_skips_carry_their_reason_and_results_survive_a_file(tmp_path: Path) -> None:
    run = results(figure("ours-disk", 20))
    run.skips.append(Skip("dynoxide-disk", "Dynoxide, disk", "cargo is not installed"))
    run.starts.append(StartFigure("ours-disk", 120, 44))
    run.footprints.append(FootprintFigure("ours-disk", 100_000, 6, 80, 50))
    run.save(tmp_path / "results.json")
    page = render(PLAN, read_results(tmp_path / "results.json"))
    assert "Dynoxide, disk: cargo is not installed" in page
    assert "yes" in line_of(page, "ready after start; disk", "120 ms")
    assert "yes" in line_of(page, "size on disk", "50.0 MB")


def test_a_later_run_replaces_what_it_measured_again() -> None:
    earlier = results(figure("ours-disk", 20), figure("dynoxide-disk", 40))
    later = results(figure("ours-disk", 25))
    earlier.skips += [Skip("ours-disk", "start", "a typing error"), Skip("local-disk", "start", "no Java")]
    later.add_earlier(earlier)
    assert [skip.reason for skip in later.skips] == ["no Java"]
    assert [(one.server, one.cpu_us) for one in later.figures] == [("dynoxide-disk", 40), ("ours-disk", 25)]
