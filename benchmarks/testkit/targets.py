"""Which targets has the test kit? Each is about one figure, or the ratio of two figures."""

from typing import NamedTuple

FEW_ITEMS, MANY_ITEMS = 1_000, 1_000_000
LITTLE, MUCH = 100, 100_000
"""Items replaced between two forks of a database of MANY_ITEMS."""


class Target(NamedTuple):
    """A figure that must not be higher than `at_most`."""

    title: str
    at_most: float
    unit: str
    figure: str
    """Name of a KitFigure."""
    relative_to: str | None = None
    """Name of a KitFigure: the target is about `figure` divided by it."""


def fork_name(items: int, written: str) -> str:
    """Name of the figure of forks with this many items; `written`: "little", "much"."""
    return f"fork {items} {written}"


TARGETS = (
    Target("first database of a process, ready after the import", 40, "ms", "first database"),
    Target("next database of the process, ready", 10, "ms", "next database"),
    Target(f"reset at {FEW_ITEMS:,} items", 5, "ms", f"reset {FEW_ITEMS}"),
    Target(f"fork at {FEW_ITEMS:,} items, all just written", 12, "ms", fork_name(FEW_ITEMS, "much")),
    Target(f"fork at {FEW_ITEMS:,} items, {LITTLE} just written", 12, "ms", fork_name(FEW_ITEMS, "little")),
    Target(f"fork at {MANY_ITEMS:,} items, {LITTLE} written since the last", 30, "ms", fork_name(MANY_ITEMS, "little")),
    Target(f"fork at {MANY_ITEMS:,} items, {MUCH:,} written since the last", 100, "ms", fork_name(MANY_ITEMS, "much")),
    Target("our part of a GetItem through the transport, CPU", 15, "µs", "get, our part"),
    Target("50 tests, fixtures, beside Dynoxide started once", 1.5, "times", "suite fixtures", "suite dynoxide-memory"),
    Target(
        "50 tests, fixtures, beside DynamoDB Local, its start included",
        1 / 3,
        "times",
        "suite fixtures",
        "suite local-memory, with start",
    ),
    Target("50 tests, fixtures, beside moto's decorator", 1, "times", "suite fixtures", "suite moto"),
    Target("50 tests, our decorator, beside moto's", 1, "times", "suite decorator", "suite moto"),
    Target("start of pytest with the plugin unused, added CPU", 5, "ms", "unused plugin"),
)
OTHERS = {
    "import": ("import of hashrange.testing.server", "ms"),
    "close": ("end of a database", "ms"),
    f"restore {FEW_ITEMS}": (f"restore at {FEW_ITEMS:,} items", "ms"),
    f"restore {MANY_ITEMS}": (f"restore at {MANY_ITEMS:,} items", "ms"),
    f"reset {MANY_ITEMS}": (f"reset at {MANY_ITEMS:,} items", "ms"),
    "get, whole": ("GetItem by boto3's client, all of it, CPU", "µs"),
    "get, without ours": ("the same with a reply at hand, CPU", "µs"),
    "pytest": ("start and end of pytest without the plugin, CPU", "ms"),
}
"""Figures without targets: name → title and unit."""
