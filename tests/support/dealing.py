"""How are the tests distributed to several processes? In groups, the longest first; a process that ends one group takes the next.

A group is usually a file, so that its fixtures are set up once. `make test` sets the number of processes; a run with one
process is not affected.
"""

import re
from typing import Any

import pytest

MACHINE = "machine"
BIND_THE_MACHINE = (
    "tests/clients/",
    "tests/docs/",
    "tests/packaging/",
    "tests/performance/test_harness.py",
    "tests/pipelines/",
    "tests/soak/",
    "tests/torture/",
    "tests/unit/testing/test_mock_aioboto3.py",
    "tests/unit/testing/test_mock_moto.py",
)
"""Tests that fetch and build, open thousands of connections, or measure: they run one after another, in one process."""
BY_THEMSELVES = frozenset({"tests/packaging/test_first_minute.py", "tests/packaging/test_image.py"})
"""Files of these folders that mostly wait for the network and the disk: other tests may run beside them."""
SECONDS = {
    "machine": 465,
    "tests/packaging/test_image.py": 60,
    "tests/crash/test_kills.py": 36,
    "conformance, suspending": 29,
    "conformance, embedded": 26,
    "tests/packaging/test_first_minute.py": 25,
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
"""Group → seconds, if at least five, from `make test PYTEST_FLAGS=--times`. Only the order of the groups matters."""

_is_suspending = re.compile(r"[\[-]suspending[\]-]").search


def group_of(nodeid: str) -> str:
    """The group of a test: its file; except one group for all of BIND_THE_MACHINE, and one per store for conformance."""
    file, _, name = nodeid.partition("::")
    if file.startswith(BIND_THE_MACHINE) and file not in BY_THEMSELVES:
        return MACHINE
    if file.startswith("tests/conformance/"):  # one server for all files
        return "conformance, suspending" if _is_suspending(name) else "conformance, embedded"
    return file


def longest_first(items: list[pytest.Item]) -> None:
    """Sort the tests of long groups first; groups without an entry in SECONDS keep their order."""
    items.sort(key=lambda item: -SECONDS.get(group_of(item.nodeid), 0))


def make_scheduler(config: pytest.Config, log: Any) -> Any:
    """The scheduler of pytest-xdist that keeps groups together, and distributes them in their order."""
    from xdist.scheduler import LoadScopeScheduling

    config.option.loadscopereorder = False
    scheduler = LoadScopeScheduling(config, log)
    scheduler._split_scope = group_of  # the method that pytest-xdist's own schedulers override
    return scheduler
