"""Members of a cluster start, fail, come back and end. Stand-ins for Cassandra and the servers make it quick."""

import os
import sys
from pathlib import Path

import pytest

from hashrange.cli.serve import READY
from hashrange.local_cluster.cluster import LocalCluster, local_cluster
from hashrange.local_cluster.cluster_file import ClusterRecord
from hashrange.local_cluster.failures import ClusterFailure
from hashrange.local_cluster.node_files import write_node_files
from hashrange.local_cluster.processes import ProcessMark, process_state

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has the whole network 127")


def states(cluster: LocalCluster) -> dict[str, str]:
    return {one.name: one.state for one in cluster.status()}


def processes_of(cluster: LocalCluster) -> dict[str, ProcessMark | None]:
    return {one.name: one.process for one in cluster.record.members}


def queries(cluster: LocalCluster, name: str) -> list[str]:
    return (Path(cluster.folder_of(name)) / "data" / "queries").read_text().splitlines()


def last_start_of(cluster: LocalCluster, server: str) -> str:
    """The words behind `hashrange serve`, which the stand-in prints."""
    lines = (Path(cluster.folder_of(server)) / "output.log").read_text().splitlines()
    return next(line for line in reversed(lines) if line.startswith("-m hashrange serve"))


def test_all_members_come_up(cluster: LocalCluster) -> None:
    told: list[str] = []
    cluster.make(nodes=3, servers=2)
    assert states(cluster) == dict.fromkeys(["1", "2", "3", "s1", "s2"], "ended")
    cluster.up(told.append)
    assert states(cluster) == dict.fromkeys(["1", "2", "3", "s1", "s2"], "ready")
    assert told[1:] == [
        "Starting nodes 1, 2, 3 of Cassandra.",
        "Starting server s1 of Hashrange.",
        "Starting server s2 of Hashrange.",
    ]
    hosts = [node.address for node in cluster.record.nodes]
    assert cluster.store_address == f"cassandra://{','.join(f'{host}:9042' for host in hosts)}/hashrange"
    assert [one.place for one in cluster.status()] == [*(f"{host}:9042" for host in hosts), *cluster.server_urls]
    assert len(set(cluster.server_urls)) == 2


def test_nodes_are_ready_once_each_reaches_all_others(cluster: LocalCluster) -> None:
    cluster.make(nodes=3)
    cluster.up()
    count = "1 SELECT count(*) FROM system.peers_v2"  # the stand-in hears of one more each time
    from_all = "5 SELECT session_id FROM system_traces.sessions LIMIT 1"
    assert [queries(cluster, name)[:3] for name in "123"] == [[count, count, from_all]] * 3


def test_a_node_that_comes_back_is_ready_once_the_others_reach_it(cluster: LocalCluster) -> None:
    cluster.make(nodes=3)
    cluster.up()
    cluster.kill("1")
    before = queries(cluster, "2")
    cluster.start("1")
    assert any(line.startswith("5 ") for line in queries(cluster, "2")[len(before) :])


def test_one_server_alone_makes_the_keyspace(cluster: LocalCluster) -> None:
    cluster.make(nodes=1, servers=2)
    cluster.up()
    logs = {name: Path(cluster.folder_of(name), "output.log") for name in ("s1", "s2")}
    assert {name: log.read_text().split("\n")[0] for name, log in logs.items()} == {
        "s1": "beside False",
        "s2": "beside True",
    }
    told: list[str] = []
    cluster.down()
    cluster.up(told.append)
    assert told[1:] == ["Starting servers s1, s2 of Hashrange."]


def test_servers_are_told_the_store(cluster: LocalCluster) -> None:
    cluster.make(nodes=1, servers=1, server_options=["--access-log"])
    cluster.up()
    words = f"-m hashrange serve --store {cluster.store_address} --port 0 --single-node --access-log"
    assert last_start_of(cluster, "s1") == words


def test_the_first_line_of_a_server_is_found(cluster: LocalCluster) -> None:
    """That of `hashrange serve`, which the stand-in prints in its words."""
    from hashrange.local_cluster import cluster as module

    found = module._find_url(f"a warning\n{READY.format(endpoint='http://[::1]:80', place='in memory', dax='')}\n")
    assert found is not None
    assert found[1] == "http://[::1]:80"


def test_members_are_killed_paused_and_come_back(cluster: LocalCluster) -> None:
    cluster.make(nodes=3, servers=2)
    cluster.up()
    before, urls = processes_of(cluster), cluster.server_urls
    cluster.kill("1", "s1")
    cluster.pause("2", "s2")
    assert states(cluster) == {"1": "ended", "2": "paused", "3": "ready", "s1": "ended", "s2": "paused"}
    cluster.resume("2", "s2")
    cluster.start("1", "s1")
    assert states(cluster) == dict.fromkeys(["1", "2", "3", "s1", "s2"], "ready")
    after = processes_of(cluster)
    assert {name for name in after if after[name] != before[name]} == {"1", "s1"}
    assert cluster.server_urls == urls
    assert last_start_of(cluster, "s1").endswith(f" --port {urls[0].rpartition(':')[2]}")


def test_a_node_beside_a_paused_one_is_ready_when_it_answers_itself(cluster: LocalCluster) -> None:
    cluster.make(nodes=3)
    cluster.up()
    cluster.kill("1")
    cluster.pause("2")
    cluster.start("1")
    assert states(cluster) == {"1": "ready", "2": "paused", "3": "ready"}
    assert queries(cluster, "1")[-1] == "1 SELECT key FROM system.local"


def test_up_again_starts_what_is_missing(cluster: LocalCluster) -> None:
    cluster.make(nodes=3, servers=1)
    cluster.up()
    before = processes_of(cluster)
    cluster.kill("2")
    cluster.pause("3", "s1")
    told: list[str] = []
    cluster.up(told.append)
    assert told == ["Starting node 2 of Cassandra."]
    after = processes_of(cluster)
    assert {name for name in after if after[name] != before[name]} == {"2"}
    assert states(cluster) == dict.fromkeys(["1", "2", "3", "s1"], "ready")


def test_members_that_run_are_not_started_again(cluster: LocalCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster.make(nodes=1, servers=1)
    cluster.up()
    before = processes_of(cluster)
    monkeypatch.setenv("JAVA_HOME", "/nowhere")  # only a node that starts needs it
    cluster.start("1", "s1")
    assert processes_of(cluster) == before


def test_down_ends_all_also_what_is_paused(cluster: LocalCluster) -> None:
    cluster.make(nodes=1, servers=1)
    cluster.up()
    cluster.pause("1", "s1")
    cluster.down()
    assert states(cluster) == {"1": "ended", "s1": "ended"}
    assert queries(cluster, "1")
    cluster.up()
    assert states(cluster) == {"1": "ready", "s1": "ready"}


def test_what_does_not_end_in_order_is_killed(cluster: LocalCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    from hashrange.local_cluster import cluster as module

    cluster.make(nodes=1)
    folder = Path(cluster.folder_of("1"))
    folder.mkdir(parents=True)
    (folder / "stubborn").touch()
    cluster.up()
    monkeypatch.setattr(module, "END_SECONDS", 0.0)
    cluster.down()
    assert states(cluster) == {"1": "ended"}


def test_deleting_leaves_nothing_but_what_others_have_put_there(cluster: LocalCluster) -> None:
    cluster.make(nodes=1, servers=1)
    cluster.up()
    mine = Path(cluster.folder, "notes.txt")
    mine.write_text("mine", encoding="utf-8")
    marks = processes_of(cluster)
    cluster.down(is_deleting=True)
    assert {process_state(mark) for mark in marks.values()} == {"ended"}
    assert os.listdir(cluster.folder) == ["notes.txt"]
    assert not cluster.exists
    mine.unlink()
    cluster.make(nodes=1)
    cluster.down(is_deleting=True)
    assert not os.path.exists(cluster.folder)


def test_a_node_that_ends_while_it_starts_is_told(cluster: LocalCluster) -> None:
    cluster.make(nodes=1)
    folder = Path(cluster.folder_of("1"))
    folder.mkdir(parents=True)
    (folder / "broken").touch()
    with pytest.raises(ClusterFailure, match=r"^node 1 ended while it started. It said: the disk is broken") as failure:
        cluster.up()
    assert str(folder / "output.log") in str(failure.value)
    (folder / "broken").unlink()
    cluster.up()
    assert states(cluster) == {"1": "ready"}


def test_a_server_that_ends_while_it_starts_is_told(cluster: LocalCluster) -> None:
    cluster.make(nodes=1, servers=1)
    folder = Path(cluster.folder_of("s1"))
    folder.mkdir(parents=True)
    (folder / "broken").touch()
    with pytest.raises(
        ClusterFailure, match=r"^server s1 ended while it started. It said: hashrange: the store is bro"
    ):
        cluster.up()
    assert states(cluster) == {"1": "ready", "s1": "ended"}
    (folder / "broken").unlink()
    cluster.start("s1")
    assert states(cluster) == {"1": "ready", "s1": "ready"}


def test_a_member_that_takes_too_long_is_told(cluster: LocalCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    from hashrange.local_cluster import cluster as module

    cluster.make(nodes=1)
    monkeypatch.setattr(module, "START_SECONDS", 0.0)
    with pytest.raises(ClusterFailure, match=r"^node 1 is not ready after 0 seconds"):
        cluster.up()


def test_processes_that_were_started_are_remembered_when_the_next_one_fails(
    cluster: LocalCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hashrange.local_cluster import cluster as module

    cluster.make(nodes=3)

    def failing(folder: str, record: ClusterRecord, node: object) -> None:
        if node is record.nodes[1]:
            raise OSError("the disk is full")
        write_node_files(folder, record, record.nodes[0])

    monkeypatch.setattr(module, "write_node_files", failing)
    with pytest.raises(ClusterFailure, match=r"the disk is full"):
        cluster.up()
    assert [process_state(node.process) for node in cluster.record.nodes] == ["running", "ended", "ended"]


@pytest.mark.parametrize("deed", ["kill", "pause", "resume", "start"])
def test_unknown_members_are_told(deed: str, cluster: LocalCluster) -> None:
    cluster.make(nodes=1, servers=1)
    with pytest.raises(ClusterFailure, match=r"has no s2; it has 1, s1"):
        getattr(cluster, deed)("1", "s2")
    assert states(cluster) == {"1": "ended", "s1": "ended"}


def test_no_cluster_is_told(cluster: LocalCluster) -> None:
    for deed in (cluster.up, cluster.status, cluster.down):
        with pytest.raises(ClusterFailure, match=r"there is no cluster in .*my cluster"):
            deed()


def test_a_second_cluster_in_a_folder_is_refused(cluster: LocalCluster) -> None:
    cluster.make(nodes=1)
    before = cluster.record
    with pytest.raises(ClusterFailure, match=r"has a cluster already"):
        cluster.make(nodes=3)
    assert cluster.record == before


@pytest.mark.parametrize("nodes", [0, 2])
def test_two_nodes_are_refused(nodes: int, cluster: LocalCluster) -> None:
    with pytest.raises(ClusterFailure, match=r"one node, or three and more"):
        cluster.make(nodes=nodes)
    assert not os.path.exists(cluster.folder)


def test_a_deletion_that_fails_can_be_tried_again(cluster: LocalCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(path: str) -> None:
        raise PermissionError(13, "Permission denied", path)

    cluster.make(nodes=1)
    cluster.up()
    with monkeypatch.context() as patch:
        patch.setattr("shutil.rmtree", fail)
        with pytest.raises(ClusterFailure, match=r"node1 cannot be removed: Permission denied\.$"):
            cluster.down(is_deleting=True)
    assert cluster.exists
    cluster.down(is_deleting=True)
    assert not os.path.exists(cluster.folder)


def test_a_cluster_for_a_block_is_gone_afterwards(machine: Path) -> None:
    with pytest.raises(RuntimeError, match=r"of the block"), local_cluster(nodes=1, servers=1) as cluster:
        assert states(cluster) == {"1": "ready", "s1": "ready"}
        marks, folder = processes_of(cluster), cluster.folder
        raise RuntimeError("of the block")
    assert {process_state(mark) for mark in marks.values()} == {"ended"}
    assert not os.path.exists(folder)
