"""How are the tests dealt out to several processes? In groups, the longest first: whoever has ended one takes the next.

A group is a file, mostly, so that what a file sets up is set up once. `make test` says how many processes there are; in a
run of one process nothing of this matters.
"""

import re
from typing import Any

import pytest

MACHINE = "machine"
BIND_THE_MACHINE = (
    "tests/clients/",
    "tests/packaging/",
    "tests/performance/test_harness.py",
    "tests/soak/",
    "tests/torture/",
)
"""They fetch and build, open thousands of connections, or measure: one after another, in one process."""
SECONDS = {
    "machine": 439,
    "tests/crash/test_kills.py": 36,
    "conformance, suspending": 29,
    "conformance, embedded": 26,
    "tests/crash/test_index_kills.py": 25,
    "tests/model/test_delayed_indexes.py": 22,
    "tests/unit/items/test_rows.py": 14,
    "tests/examples/test_examples.py": 13,
    "tests/model/test_bank.py": 12,
    "tests/model/test_indexed_tables.py": 11,
    "tests/model/test_online_indexes.py": 11,
    "tests/unit/cli/test_serve.py": 10,
    "tests/unit/cli/test_tail.py": 10,
    "tests/unit/expressions/test_properties.py": 10,
    "tests/unit/store/test_pages.py": 9,
    "tests/fuzz/test_bodies.py": 8,
    "tests/unit/server/test_chunked_bodies.py": 8,
    "tests/unit/test_dealing.py": 8,
    "tests/model/test_item_collections.py": 7,
    "tests/unit/jobs/test_index_backfill.py": 7,
    "tests/unit/server/test_receive_budget.py": 7,
    "tests/unit/wire/test_faults_bounds.py": 7,
    "tests/crash/test_collection_kills.py": 6,
    "tests/unit/cli/test_commands.py": 6,
    "tests/unit/items/test_values.py": 6,
    "tests/unit/store/test_recovery.py": 6,
}
"""Group → about how long it takes, for all of at least five seconds, from `make test PYTEST_FLAGS=--times`. Only the order matters."""

_is_suspending = re.compile(r"[\[-]suspending[\]-]").search


def group_of(nodeid: str) -> str:
    """The group of a test: its file; but all that binds the machine is one, and conformance one for each store that serves it."""
    file, _, name = nodeid.partition("::")
    if file.startswith(BIND_THE_MACHINE):
        return MACHINE
    if file.startswith("tests/conformance/"):  # one server for all files
        return "conformance, suspending" if _is_suspending(name) else "conformance, embedded"
    return file


def longest_first(items: list[pytest.Item]) -> None:
    """Put the tests of long groups before all others; what is not in the table keeps its order."""
    items.sort(key=lambda item: -SECONDS.get(group_of(item.nodeid), 0))


def make_scheduler(config: pytest.Config, log: Any) -> Any:
    """The scheduler of pytest-xdist that keeps groups together, and takes them in their order."""
    from xdist.scheduler import LoadScopeScheduling

    config.option.loadscopereorder = False
    scheduler = LoadScopeScheduling(config, log)
    scheduler._split_scope = group_of  # what its own kinds override, for a file or a mark
    return scheduler
