"""How are the tests distributed to several processes? In groups, the longest first;
a process that ends one group takes the next.

A group is usually a file, so that its fixtures are set up once. `make test` sets the number of processes;
a run with one process is not affected.
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
    "machine": 555,
    "tests/packaging/test_image.py": 44,
    "tests/unit/wire/test_faults_bounds.py": 41,
    "conformance, embedded": 29,
    "conformance, suspending": 27,
    "tests/performance/test_pair_trees.py": 21,
    "tests/examples/test_examples.py": 20,
    "tests/unit/testing/test_pytest_plugin.py": 18,
    "tests/unit/testing/test_forked_processes.py": 17,
    "tests/model/test_streams.py": 15,
    "tests/unit/items/test_rows.py": 14,
    "tests/unit/triggers/test_kinesis_model.py": 14,
    "tests/packaging/test_first_minute.py": 13,
    "tests/model/test_bank.py": 12,
    "tests/unit/server/test_handshakes.py": 11,
    "tests/unit/test_dealing.py": 11,
    "tests/unit/testing/test_kinds_of_state.py": 10,
    "tests/unit/server/test_admin_copies.py": 10,
    "tests/model/test_time_to_live.py": 9,
    "tests/crash/test_kills.py": 9,
    "tests/test_architecture.py": 9,
    "tests/crash/test_index_kills.py": 9,
    "tests/model/test_online_indexes.py": 9,
    "tests/unit/exposition/test_otlp.py": 9,
    "tests/unit/items/test_packing.py": 9,
    "tests/unit/cloudwatch/test_metrics_model.py": 9,
    "tests/unit/autoscaling/test_tracking.py": 8,
    "tests/unit/throughput/test_with_others.py": 8,
    "tests/unit/wire/test_piecewise.py": 8,
    "tests/unit/server/test_receive_budget.py": 8,
    "tests/unit/server/test_hostile_functions.py": 8,
    "tests/unit/server/test_functions_copies.py": 7,
    "tests/unit/functions/test_hostile_handlers.py": 7,
    "tests/fuzz/test_bodies.py": 7,
    "tests/unit/cli/test_init.py": 7,
    "tests/crash/test_full_file_system.py": 7,
    "tests/unit/store/test_recovery.py": 7,
    "tests/unit/faults/test_errors_and_retries.py": 6,
    "tests/unit/alarms/test_alarms.py": 6,
    "tests/unit/testing/test_database.py": 6,
    "tests/unit/cli/test_tail.py": 6,
    "tests/model/test_triggers.py": 6,
    "tests/unit/cloudwatch/test_get_metric_statistics.py": 5,
    "tests/unit/testing/test_overlapping_blocks.py": 5,
    "tests/scripts/test_autoscaling.py": 5,
    "tests/model/test_delayed_indexes.py": 5,
    "tests/unit/faults/test_application.py": 5,
    "tests/fuzz/test_lambda_bodies.py": 5,
    "tests/unit/items/test_values.py": 5,
    "tests/performance/test_triggers_benchmark.py": 5,
}
"""Group → seconds, if at least five, from `make test PYTEST_FLAGS=--times`. Only the order of the groups matters."""

_is_suspending = re.compile(r"[\[-]suspending[\]-]").search


def group_of(nodeid: str) -> str:
    """The group of a test: its file; except one group for all of BIND_THE_MACHINE,
    and one per store for conformance.
    """
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
