"""cassandra.yaml says what Cassandra must know of a node."""

from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import msgspec
import pytest
import yaml

from hashrange.local_cluster.cluster_file import CassandraNode
from hashrange.local_cluster.node_files import cassandra_yaml, write_node_files
from tests.unit.local_cluster.test_cluster_file import RECORD

THREE = msgspec.structs.replace(RECORD, nodes=[CassandraNode(str(n), f"127.9.9.{n}") for n in (1, 2, 3)])


def settings_of(folder: str = "/cluster/node1", number: int = 0, **changed: Any) -> Any:
    record = msgspec.structs.replace(THREE, **changed)
    return yaml.safe_load(cassandra_yaml(folder, record, record.nodes[number]))


def test_each_node_has_its_address_and_all_are_seeds() -> None:
    found = [settings_of(number=number) for number in range(3)]
    assert [one["listen_address"] for one in found] == [one["rpc_address"] for one in found]
    assert [one["rpc_address"] for one in found] == ["127.9.9.1", "127.9.9.2", "127.9.9.3"]
    (seeds,) = {one["seed_provider"][0]["parameters"][0]["seeds"] for one in found}
    assert seeds == "127.9.9.1:7000,127.9.9.2:7000,127.9.9.3:7000"
    assert len({one["cluster_name"] for one in found}) == 1


def test_nodes_share_the_ring_evenly() -> None:
    first, second, third = (settings_of(number=number)["initial_token"] for number in range(3))
    assert first == -(2**63)
    assert second - first == third - second
    assert 0 <= (first + 2**64 - third) - (second - first) < 3


def test_conditional_writes_are_those_of_paxos_v2() -> None:
    found = settings_of()
    assert (found["paxos_variant"], found["paxos_state_purging"]) == ("v2", "repaired")


@pytest.mark.parametrize(("sync", "period"), [("batch", None), ("periodic", "10000ms")])
def test_the_log_is_synced_as_was_asked(sync: str, period: str | None) -> None:
    found = settings_of(commitlog_sync=sync)
    assert (found["commitlog_sync"], found.get("commitlog_sync_period")) == (sync, period)


def test_folders_may_have_any_name() -> None:
    folder = "/my: #1 \"clusters\"/'node'"
    found = settings_of(folder)
    assert found["data_file_directories"] == [f"{folder}/data"]
    assert found["commitlog_directory"] == f"{folder}/commitlog"


def test_the_files_are_written_again(tmp_path: Path) -> None:
    for sync in ("periodic", "batch"):
        record = msgspec.structs.replace(THREE, commitlog_sync=sync)
        write_node_files(str(tmp_path), record, record.nodes[1])
    assert yaml.safe_load((tmp_path / "cassandra.yaml").read_text())["commitlog_sync"] == "batch"
    assert ET.parse(tmp_path / "logback.xml").getroot().tag == "configuration"
    assert (tmp_path / "tmp").is_dir()
