"""What does the page say? Results as Markdown: targets beside Hashrange's figures,
ratios to the best peer, then all figures.
"""

from benchmarks.comparison import compared, machine
from benchmarks.details import backfills, details, growth, in_process, searches, skipped
from benchmarks.lookup import all_records, used_runs
from benchmarks.results import Results
from benchmarks.targets import targets
from benchmarks.workloads import Plan

SECTIONS = (targets, compared, machine, in_process, backfills, searches, details, growth, skipped)


def render(plan: Plan, results: Results) -> str:
    """Return the whole page; sections without figures are left out."""
    parts = [head(plan, results), *(section(plan, results) for section in SECTIONS)]
    return "\n\n".join(filter(None, parts)) + "\n"


def head(plan: Plan, results: Results) -> str:
    """Return the head of the page: measured software, machine, date, command."""
    versions = "; ".join(f"{name} {version}" for name, version in results.versions.items())
    used = [results.runs[place] for place in used_runs(all_records(results))] or results.runs[-1:]
    last = used[-1]
    machines = "; then: ".join(dict.fromkeys(run.machine for run in used))
    if len(used) == 1:
        written = f"Written by `{last.command}` on {last.date}"
    else:
        written = (
            f"Put together from {len(used)} runs, the last `{last.command}` on {last.date}; each section names its own"
        )
    return (
        "# Benchmarks\n\n"
        f"{written}; `make bench` measures again.\n\n"
        f"- Machine: {machines}\n"
        f"- Servers: {versions or 'Hashrange only'}\n"
        f"- Load: `wrk` replays signed requests prepared right before, {last.seconds:g} s per compared run (the peers'"
        " two thirds of that) after a warm-up, less for other sizes and numbers of connections;"
        f" up to {plan.requests_prepared:,} different requests per workload. Hashrange checks every signature;"
        " the peers do not.\n"
        "- **CPU** is user and system time of the server's processes over the run, divided by operations (for Scans"
        " and batches, by items): the figure that counts, because it hardly depends on how busy the machine is.\n"
        "- Replacing writes change what they replace, and what indexes project of it; keys stay."
        " Transactions carry no ClientRequestToken: requests are replayed in a circle, and one with a token would be"
        " answered the second time without being done.\n"
        "- Hashrange on disk answers a write when it is synced; the peers on disk do as they do by default."
    )
