"""What the first test of a suite waits for: only the code that it needs is loaded,
and the garbage collector does not look through it.
"""

import gc
import subprocess
import sys
from collections.abc import Iterator

import pytest

from hashrange.testing.loading import uncollected

NOT_NEEDED = (
    "hashrange.autoscaling",
    "hashrange.cli",
    "hashrange.dax.clusters",
    "hashrange.functions",
    "hashrange.init.applying",
    "hashrange.insights.insights",
    "hashrange.server.access_log",
    "hashrange.server.connection",
    "hashrange.server.connections",
    "hashrange.server.dax",
    "hashrange.server.exposition.prometheus",
    "hashrange.server.listener",
    "hashrange.server.outgoing",
    "hashrange.server.protocols.admin",
    "hashrange.server.protocols.aws_forms",
    "hashrange.server.protocols.dynamodb_json.logged_call",
    "hashrange.throughput",
    "hashrange.triggers.triggers",
    "httptools",
)
"""Modules and packages for ports, protocols and features that a first PutItem does not use."""
RECORDS = {
    f"hashrange.{package}{module}"
    for package in ("autoscaling", "functions", "throughput")
    for module in ("", ".feature")
}
"""What is loaded of features that nobody uses: their records, in packages whose own files are empty."""
PROGRAM = """
import gc, sys
from hashrange.testing import server

with server() as database:
    client = database.client()
    client.create_table(
        TableName="music",
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    client.put_item(TableName="music", Item={"pk": {"S": "a"}})
    assert gc.isenabled()
print(*sorted(sys.modules))
"""


def test_a_first_put_item_loads_nothing_that_it_does_not_need() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    assert "hashrange.operations.items.write_item" in loaded
    found = {name for name in loaded if any(f"{name}.".startswith(f"{one}.") for one in NOT_NEEDED)}
    assert found == RECORDS


def test_nothing_is_collected_while_the_test_kit_is_imported() -> None:
    program = (
        "import gc\nfrom hashrange import testing\n"
        "def count(): return sum(one['collections'] for one in gc.get_stats())\n"
        "before = count()\ntesting.mock_dynamodb\nprint(count() - before, gc.isenabled())"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    count, is_enabled = done.stdout.split()
    assert int(count) < 5, "one when the import is over; while it goes on there would be more than a hundred"
    assert is_enabled == "True"


@pytest.fixture(autouse=True)
def collecting() -> Iterator[None]:
    gc.enable()
    yield
    gc.enable()


def test_collections_go_on_after_the_last_of_overlapping_blocks() -> None:
    first, second = uncollected(), uncollected()
    with first:
        assert not gc.isenabled()
        second.__enter__()
    assert not gc.isenabled()
    second.__exit__(None, None, None)
    assert gc.isenabled()
    with pytest.raises(ZeroDivisionError), uncollected():
        1 / 0  # noqa: B018
    assert gc.isenabled()


def test_a_program_that_collects_by_itself_stays_so() -> None:
    gc.disable()
    with uncollected():
        pass
    assert not gc.isenabled()
