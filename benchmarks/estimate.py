"""How long will a run take? Rough sums from the chosen sections, printed before the run begins,
so that nobody starts a longer run than intended.
"""

from collections.abc import Collection

from benchmarks.sections import IDLE_SECONDS, SETTLE_SECONDS, SLOW_AFTER_SHARE, Choice, on_disk, ours_of
from benchmarks.servers import Contender
from benchmarks.workloads import Plan

START_SECONDS = 1.2
"""Seconds to start and stop a server."""
SIGNING_SECONDS = 0.15
"""Seconds to prepare a workload's requests."""
AROUND_SECONDS = 0.15
"""Seconds of overhead for each run of wrk."""
IN_PROCESS_SECONDS = 2.5
"""Seconds of one workload in process."""
VECTOR_SECONDS = 0.0015
"""Seconds to write one vector, or to search for one."""
BACKFILLS_PER_SECOND, BACKFILLS_PER_SECOND_PEERS = 30_000, 8_000


def load_seconds(contender: Contender, items: int) -> float:
    """Return the seconds to fill a table."""
    return items / contender.loads_per_second


def load_seconds_at_most(choice: Choice, contender: Contender, items: int) -> float:
    """Return the seconds to fill a table at the minimum rate at which a peer is still measured."""
    seconds = load_seconds(contender, items)
    return seconds if contender.is_ours else min(seconds, items / choice.plan.load_per_second_min_small)


def is_left_out(choice: Choice, contender: Contender) -> bool:
    """True if the contender loads too slowly for the large table."""
    return not contender.is_ours and contender.loads_per_second < choice.plan.load_per_second_min


def estimate_load(choice: Choice, table_items: int) -> float:
    """Return the seconds of the load section on one table size."""
    plan, side = choice.plan, choice.side_pace
    is_small = table_items == plan.table_items
    total = 0.0
    for contender in choice.contenders:
        if not is_small and is_left_out(choice, contender):
            total += START_SECONDS + plan.table_items_full / plan.load_per_second_min * SLOW_AFTER_SHARE
            continue
        for item_bytes in choice.item_bytes if is_small else choice.item_bytes[:1]:
            is_first = is_small and item_bytes == choice.item_bytes[0]
            workloads = [one for one in choice.workloads if is_first or not one.is_compared_only]
            tables = 1 + 1.5 * len({one.indexes for one in workloads} - {0})
            total += START_SECONDS + tables * load_seconds(contender, table_items)
            compiles = contender.warm_up_seconds * (1 + max(0, len(workloads) - 1) / 4)
            is_compared = item_bytes == plan.item_bytes[0]
            chosen = choice.pace_of(contender) if is_compared else side
            total += max(compiles * chosen.compile_share, len(workloads) * chosen.warm_up_seconds)
            total += len(workloads) * (SIGNING_SECONDS + AROUND_SECONDS + chosen.seconds)
            if is_first:
                others = sum(not one.is_compared_only for one in workloads) * (len(choice.connections) - 1)
                total += others * (max(1, side.seconds) + AROUND_SECONDS)
    return total


def estimate_backfill(choice: Choice) -> float:
    """Return the seconds to fill, create an index, delete it and create it again under load, for each server."""
    wanted = choice.plan.backfill
    total = 0.0
    for contender in choice.contenders:
        items = wanted.items if contender.is_ours else wanted.items_peers
        total += START_SECONDS + load_seconds_at_most(choice, contender, items) + SETTLE_SECONDS
        per_second = BACKFILLS_PER_SECOND if contender.is_ours else BACKFILLS_PER_SECOND_PEERS
        total += items / per_second
        if contender.is_ours or choice.is_full:
            total += items / per_second + 4 * SIGNING_SECONDS + SETTLE_SECONDS + choice.pace.seconds
            total += 1.25 * contender.warm_up_seconds * choice.side_pace.compile_share
    return total


def vector_seconds(plan: Plan) -> float:
    """Return the seconds of all writes and searches of vectors of one server that has vector indexes."""
    wanted = plan.searched_vectors
    return (wanted.items + wanted.searches + 2 * wanted.writes) * VECTOR_SECONDS


def estimate(choice: Choice, names: Collection[str], *, full: bool, huge: bool) -> dict[str, float]:
    """Return the estimated seconds by section, in order."""
    plan, seconds = choice.plan, choice.pace.seconds
    disk = on_disk(choice.contenders)
    beside_one = START_SECONDS + SIGNING_SECONDS + seconds + 1
    compiles = {one.name: one.warm_up_seconds * choice.side_pace.compile_share for one in choice.contenders}
    sums = {
        "in-process": len(choice.workloads) * IN_PROCESS_SECONDS,
        "load": estimate_load(choice, plan.table_items),
        "latency": sum(
            2 * beside_one + 1.25 * compiles[one.name] + load_seconds(one, plan.table_items) for one in disk
        ),
        "slow-sync": sum(
            beside_one + compiles[one.name] + 2 * load_seconds(one, plan.table_items) for one in ours_of(disk)
        ),
        "start": sum(choice.starts_of(one) for one in choice.contenders) * (START_SECONDS / 2 + IDLE_SECONDS),
        "footprint": sum(
            START_SECONDS + SETTLE_SECONDS + load_seconds_at_most(choice, one, plan.footprint.items)
            for one in choice.contenders
        ),
        "backfill": estimate_backfill(choice),
        "searches": len(choice.contenders) * START_SECONDS + len(ours_of(choice.contenders)) * vector_seconds(plan),
    }
    chosen = {name: value for name, value in sums.items() if name in names}
    if full:
        chosen[f"load, {plan.table_items_full:,} items"] = estimate_load(choice, plan.table_items_full)
    if huge:
        chosen[f"growth to {plan.table_items_huge:,} items"] = plan.table_items_huge / 20_000 + 240
    return chosen


def describe(sums: dict[str, float]) -> str:
    """Return the estimate as text, in minutes."""
    parts = ", ".join(f"{name} {seconds / 60:.1f}" for name, seconds in sums.items())
    return f"plan, in minutes: {parts}; together about {sum(sums.values()) / 60:.0f}"
