"""How are the tests distributed to several processes? In groups, the longest first;
a process that ends one group takes the next.

A group is usually a file, so that its fixtures are set up once. processes.py deals groups; a run in one process is not
affected.
"""

import re

import pytest

MACHINE = "machine"
TOGETHER = {
    MACHINE: (
        "tests/clients/",
        "tests/cluster/",
        "tests/packaging/",
        "tests/performance/test_harness.py",
        "tests/soak/",
    ),
    "DAX": ("tests/clients/dax/",),
    "documents": (
        "tests/docs/",
        "tests/unit/testing/test_mock_aioboto3.py",
        "tests/unit/testing/test_mock_moto.py",
    ),
    "tests/pipelines": ("tests/pipelines/",),
    "sources": (
        "tests/test_architecture.py",
        "tests/test_formats.py",
        "tests/test_messages.py",
        "tests/test_names.py",
        "tests/test_rules.py",
    ),
}
"""Group → the beginnings of its tests, which run one after another, in one process. They share environments and
servers, open thousands of connections, measure, or read all sources. The longest beginning counts.
"""
FETCHING = frozenset({MACHINE, "DAX", "documents"})
"""Groups whose tests run programs and libraries of others."""
BY_THEMSELVES = frozenset({
    "tests/clients/test_mcp.py",
    "tests/clients/test_mcp_http.py",
    "tests/packaging/test_first_minute.py",
    "tests/packaging/test_image.py",
    "tests/packaging/test_wheel.py",
})  # fmt: skip
"""Files of these folders that share nothing with others: other tests may run beside them."""
SECONDS = {
    "machine": 187,
    "documents": 86,
    "DAX": 68,
    "conformance, embedded": 64,
    "tests/pipelines": 57,
    "conformance, suspending": 52,
    "tests/unit/aws_forms/test_long_requests.py": 44,
    "tests/packaging/test_image.py": 32,
    "tests/torture/test_share.py": 30,
    "tests/unit/transfers/formats/test_long_lines.py": 30,
    "sources": 26,
    "tests/examples/test_examples.py": 24,
    "tests/unit/testing/test_pytest_plugin.py": 24,
    "tests/torture/test_turns.py": 24,
    "tests/performance/test_pair_trees.py": 23,
    "tests/unit/store/test_former_formats.py": 22,
    "tests/unit/local_cluster/test_real_cluster.py": 21,
    "tests/crash/test_kills.py": 22,
    "tests/clients/test_mcp.py": 20,
    "tests/unit/dax/test_turns.py": 19,
    "tests/unit/cli/test_serve.py": 17,
    "tests/unit/server/test_collector.py": 16,
    "tests/unit/server/test_s3.py": 15,
    "tests/unit/functions/test_http_client.py": 15,
    "tests/unit/testing/test_kinds_of_state.py": 14,
    "tests/unit/cloudwatch_math/test_bounded_requests.py": 14,
    "tests/unit/items/test_rows.py": 13,
    "tests/unit/cli/test_init.py": 13,
    "tests/unit/backups/test_kills.py": 12,
    "tests/unit/wire/test_faults_bounds.py": 12,
    "tests/unit/functions/test_hostile_handlers.py": 11,
    "tests/unit/items/test_packing.py": 11,
    "tests/torture/test_kinds.py": 11,
    "tests/packaging/test_first_minute.py": 11,
    "tests/unit/server/test_receive_budget.py": 11,
    "tests/unit/cli/test_spoiled_replies.py": 10,
    "tests/model/test_online_indexes.py": 10,
    "tests/unit/triggers/test_kinesis_model.py": 9,
    "tests/unit/server/test_hostile_functions.py": 9,
    "tests/clients/test_mcp_http.py": 9,
    "tests/unit/cli/test_tail.py": 9,
    "tests/model/test_streams.py": 9,
    "tests/unit/insights/test_what_is_counted.py": 9,
    "tests/unit/dax/test_strangers.py": 9,
    "tests/crash/test_log_kills.py": 9,
    "tests/unit/wire/test_body_members.py": 9,
    "tests/unit/transfers/test_bulk_puts.py": 9,
    "tests/unit/test_processes.py": 9,
    "tests/unit/store/test_pages.py": 9,
    "tests/unit/server/test_admin_copies.py": 8,
    "tests/unit/exposition/test_otlp.py": 8,
    "tests/fuzz/test_bodies.py": 8,
    "tests/unit/testing/test_moto_habits.py": 8,
    "tests/unit/testing/test_ended_forks.py": 8,
    "tests/performance/test_budget.py": 8,
    "tests/unit/functions/test_functions.py": 8,
    "tests/unit/testing/test_forked_processes.py": 8,
    "tests/unit/throughput/test_enforced.py": 8,
    "tests/packaging/test_wheel.py": 7,
    "tests/unit/cloudwatch_math/test_searches_in_long_texts.py": 7,
    "tests/model/test_change_log.py": 7,
    "tests/unit/autoscaling/test_tracking.py": 7,
    "tests/unit/server/test_functions_copies.py": 7,
    "tests/unit/transfers/test_damaged_exports.py": 7,
    "tests/unit/faults/test_given_faults.py": 7,
    "tests/unit/cloudwatch/test_put_metric_data.py": 7,
    "tests/unit/alarms/test_alarms.py": 7,
    "tests/unit/jobs/test_steps_over_stores.py": 7,
    "tests/unit/cloudwatch/test_get_metric_statistics.py": 7,
    "tests/unit/archive/test_archiving.py": 7,
    "tests/unit/functions/test_node_runtime.py": 7,
    "tests/unit/functions/test_functions_api.py": 7,
    "tests/mutants/test_trials.py": 7,
    "tests/unit/server/test_reply_writing.py": 7,
    "tests/model/test_item_collections.py": 7,
    "tests/unit/cli/test_backup.py": 6,
    "tests/unit/store/test_recovery.py": 6,
    "tests/unit/server/test_ended_forks.py": 6,
    "tests/unit/faults/test_s3_faults.py": 6,
    "tests/unit/items/test_numbers.py": 6,
    "tests/unit/transfers/test_kills.py": 6,
    "tests/unit/faults/test_errors_and_retries.py": 6,
    "tests/unit/metric_recording/test_places.py": 6,
    "tests/unit/transfers/test_imports.py": 6,
    "tests/crash/test_stream_kills.py": 6,
    "tests/unit/server/test_s3_serving.py": 6,
    "tests/model/test_delayed_indexes.py": 6,
    "tests/unit/operations/tables/test_giving_way.py": 6,
    "tests/unit/cli/checkup/test_endpoint.py": 5,
    "tests/unit/cli/test_unarchive.py": 5,
    "tests/performance/test_triggers_benchmark.py": 5,
    "tests/unit/dax_control/test_nodes.py": 5,
    "tests/unit/autoscaling/test_operations.py": 5,
    "tests/unit/jobs/test_stream_sequences.py": 5,
    "tests/model/test_partiql.py": 5,
    "tests/unit/jobs/test_expiry.py": 5,
    "tests/unit/server/test_handshakes.py": 5,
    "tests/unit/server/test_s3_bodies.py": 5,
    "tests/unit/testing/test_nested_blocks.py": 5,
    "tests/unit/s3/test_endpoint.py": 5,
    "tests/unit/cloudwatch/test_many_metrics.py": 5,
}
"""Group → seconds, if at least five, from `make test PYTEST_FLAGS=--times`. Only the order of the groups matters."""

_is_suspending = re.compile(r"[\[-]suspending[\]-]").search


def group_of(nodeid: str) -> str:
    """The group of a test: its file; except those of TOGETHER, and one per store for conformance."""
    file, _, name = nodeid.partition("::")
    beginnings = {one: group for group, begin in TOGETHER.items() for one in begin if file.startswith(one)}
    if beginnings and file not in BY_THEMSELVES:
        return beginnings[max(beginnings, key=len)]
    if file.startswith("tests/conformance/"):  # one server for all files
        return "conformance, suspending" if _is_suspending(name) else "conformance, embedded"
    return file


def longest_first(items: list[pytest.Item]) -> None:
    """Sort the tests of long groups first; groups without an entry in SECONDS keep their order."""
    items.sort(key=lambda item: -SECONDS.get(group_of(item.nodeid), 0))


def groups_of(nodeids: list[str]) -> list[list[int]]:
    """The places of the tests of each group, in the order of each group's first test."""
    groups: dict[str, list[int]] = {}
    for place, nodeid in enumerate(nodeids):
        groups.setdefault(group_of(nodeid), []).append(place)
    return list(groups.values())
