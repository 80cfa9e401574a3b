"""The nodes of clusters: each an endpoint with caches of its own, through replication,
reboots, states, restarts, copies.
"""

import errno
import os
import random
import socket
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hashrange.server.dax.nodes import DaxNodes
from hashrange.settings import Settings
from hashrange.testing import Database, server
from tests.support.dax_client import DaxClient, authorization
from tests.unit.dax_control.conftest import REGION, code_of, create, described, make_table, node_url, year_at

DELAY_SECONDS = 30.0


def urls(dax: Any, name: str = "shop") -> list[str]:
    cluster = described(dax, name)
    return [node_url(cluster, number) for number in range(len(cluster["Nodes"]))]


def set_year(client: Any, year: int) -> None:
    client.put_item(TableName="music", Item={"artist": {"S": "Nina"}, "year": {"N": str(year)}})


def test_each_node_has_caches_of_its_own(dax: Any, database: Database) -> None:
    direct = make_table(database)
    create(dax, nodes=3)
    a, b, _ = urls(dax)
    assert year_at(a) == 1958
    set_year(direct, 1959)
    assert year_at(a) == 1958, "the item cache does not see what is written past it"
    assert year_at(b) == 1959
    dax.reboot_node(ClusterName="shop", NodeId="shop-a")
    assert urls(dax)[0] == a, "a rebooted node is found where it was"
    assert year_at(a) == 1959


def test_the_endpoints_call_lists_the_nodes(dax: Any) -> None:
    create(dax, nodes=3)
    found = urls(dax)
    for url in found:
        with DaxClient(url) as client:
            told = client.call("endpoints")
        assert [f"dax://127.0.0.1:{one[3]}" for one in told] == found
        assert [one[4] for one in told] == [1, 2, 2], "the first one leads"
        assert [one[5] for one in told] == ["eu-west-1a", "eu-west-1b", "eu-west-1c"]


def test_nodes_are_added_and_removed(dax: Any, database: Database) -> None:
    make_table(database)
    create(dax, nodes=2)
    before = urls(dax)
    assert code_of(dax.increase_replication_factor, ClusterName="shop", NewReplicationFactor=2) == (
        "InvalidParameterValueException"
    )
    dax.increase_replication_factor(ClusterName="shop", NewReplicationFactor=4)
    four = urls(dax)
    assert four[:2] == before
    assert [year_at(url) for url in four] == [1958] * 4
    for members, code in (
        ({"NewReplicationFactor": 4}, "InvalidParameterValueException"),
        ({"NewReplicationFactor": 0}, "InvalidParameterValueException"),
        ({"NewReplicationFactor": 3, "NodeIdsToRemove": ["shop-z"]}, "NodeNotFoundFault"),
        ({"NewReplicationFactor": 3, "NodeIdsToRemove": ["shop-a", "shop-b"]}, "InvalidParameterCombinationException"),
    ):
        assert code_of(dax.decrease_replication_factor, ClusterName="shop", **members) == code
    dax.decrease_replication_factor(ClusterName="shop", NewReplicationFactor=2, NodeIdsToRemove=["shop-a", "shop-c"])
    assert urls(dax) == [four[1], four[3]]
    with pytest.raises(OSError, match="refused"):
        year_at(four[2])
    with DaxClient(four[1]) as client:
        assert [one[4] for one in client.call("endpoints")] == [1, 2], "another node leads"
    dax.increase_replication_factor(ClusterName="shop", NewReplicationFactor=3)
    assert [node["NodeId"] for node in described(dax)["Nodes"]] == ["shop-a", "shop-b", "shop-d"]
    dax.delete_cluster(ClusterName="shop")
    with pytest.raises(OSError, match="refused"):
        year_at(four[1])


def ports_at(url: str) -> list[int]:
    """The ports of the nodes that a client hears of at this URL."""
    with DaxClient(url) as client:
        return [one[3] for one in client.call("endpoints")]


def discovery_url(dax: Any, name: str = "shop") -> str:
    return str(described(dax, name)["ClusterDiscoveryEndpoint"]["URL"])


def test_a_cluster_is_found_where_it_was_whichever_nodes_go(tmp_path: Path) -> None:
    settings = Settings(data_dir=str(tmp_path), port=0)
    with server(settings) as database:
        assert database.endpoint
        dax = database.client("dax", region_name=REGION)
        make_table(database)
        create(dax, nodes=3)
        found = discovery_url(dax)
        second = urls(dax)[1]
        dax.decrease_replication_factor(ClusterName="shop", NewReplicationFactor=2, NodeIdsToRemove=["shop-a"])
        assert year_at(found) == year_at(second) == 1958, "another node listens there too"
        assert [f"dax://127.0.0.1:{port}" for port in ports_at(found)] == urls(dax)
        dax.reboot_node(ClusterName="shop", NodeId="shop-b")
        assert year_at(found) == year_at(second) == 1958
        dax.decrease_replication_factor(ClusterName="shop", NewReplicationFactor=1, NodeIdsToRemove=["shop-b"])
        assert year_at(found) == 1958
        with pytest.raises(OSError, match="refused"):
            year_at(second)
        dax.increase_replication_factor(ClusterName="shop", NewReplicationFactor=3)
        assert [f"dax://127.0.0.1:{port}" for port in ports_at(found)] == urls(dax)
        assert found not in urls(dax)
    with server(settings) as database:
        assert database.endpoint
        dax = database.client("dax", region_name=REGION)
        assert discovery_url(dax) == found
        assert len(ports_at(found)) == 3
        dax.delete_cluster(ClusterName="shop")
        with pytest.raises(OSError, match="refused"):
            ports_at(found)


def test_a_cluster_is_found_elsewhere_if_another_program_has_taken_its_port(tmp_path: Path) -> None:
    settings = Settings(data_dir=str(tmp_path), port=0)
    with server(settings) as database:
        assert database.endpoint
        dax = database.client("dax", region_name=REGION)
        create(dax, nodes=2)
        port = described(dax)["ClusterDiscoveryEndpoint"]["Port"]
        dax.decrease_replication_factor(ClusterName="shop", NewReplicationFactor=1, NodeIdsToRemove=["shop-a"])
    with socket.create_server(("127.0.0.1", port)), server(settings) as database:
        assert database.endpoint
        dax = database.client("dax", region_name=REGION)
        assert discovery_url(dax) == urls(dax)[0]


def test_the_first_node_of_the_cluster_of_the_settings_may_go() -> None:
    with server(Settings(data_dir=None, port=0, dax_port=0)) as database:
        url = str(database.dax_endpoint)
        dax = database.client("dax", region_name=REGION)
        dax.increase_replication_factor(ClusterName="default", NewReplicationFactor=2)
        dax.decrease_replication_factor(ClusterName="default", NewReplicationFactor=1, NodeIdsToRemove=["default-a"])
        assert discovery_url(dax, "default") == url
        assert len(ports_at(url)) == 1


def test_a_cluster_is_for_its_account_and_region(dax: Any) -> None:
    create(dax)
    url = urls(dax)[0]
    for wrong in (authorization(region="us-east-1"), authorization(access_key="111122223333")):
        with DaxClient(url, authorize=wrong) as client, pytest.raises(Exception, match="another account or Region"):
            client.call("endpoints")


def test_states_last_as_long_as_the_settings_say() -> None:
    with server(Settings(data_dir=None, port=0, table_state_delay_seconds=DELAY_SECONDS)) as database:
        assert database.endpoint
        database.clock.freeze()
        dax = database.client("dax", region_name=REGION)
        assert create(dax, nodes=2)["Status"] == "creating"
        for call in (dax.delete_cluster, dax.update_cluster):
            assert code_of(call, ClusterName="shop") == "InvalidClusterStateFault"
        database.clock.advance(DELAY_SECONDS)
        assert described(dax)["Status"] == "available"
        found = urls(dax)
        dax.reboot_node(ClusterName="shop", NodeId="shop-b")
        rebooting = described(dax)
        assert (rebooting["Status"], rebooting["ActiveNodes"]) == ("available", 1)
        assert rebooting["Nodes"][1]["NodeStatus"] == "rebooting"
        with DaxClient(found[0]) as client:
            assert len(client.call("endpoints")) == 1, "clients are led to the other node"
        with pytest.raises(OSError, match="refused"):
            DaxClient(found[1])
        assert code_of(dax.reboot_node, ClusterName="shop", NodeId="shop-a") == "InvalidClusterStateFault"
        database.clock.advance(DELAY_SECONDS)
        with DaxClient(found[1]) as client:
            assert len(client.call("endpoints")) == 2
        dax.reboot_node(ClusterName="shop", NodeId="shop-a")
        assert len(ports_at(found[0])) == 1, "the other node listens there meanwhile"
        database.clock.advance(DELAY_SECONDS)
        assert urls(dax) == found
        assert len(ports_at(found[0])) == 2
        dax.delete_cluster(ClusterName="shop")
        assert described(dax)["Status"] == "deleting"
        database.clock.advance(DELAY_SECONDS)
        assert dax.describe_clusters()["Clusters"] == []


def test_parameters_and_memory_of_nodes(dax: Any, database: Database) -> None:
    direct = make_table(database)
    database.clock.freeze()
    dax.create_parameter_group(ParameterGroupName="short")
    create(dax, ParameterGroupName="short")
    (url,) = urls(dax)
    changes = [{"ParameterName": "record-ttl-millis", "ParameterValue": "1000"}]
    dax.update_parameter_group(ParameterGroupName="short", ParameterNameValues=changes)
    assert year_at(url) == 1958
    set_year(direct, 1959)
    database.clock.advance(2)
    assert year_at(url) == 1958, "the node has not been rebooted"
    dax.reboot_node(ClusterName="shop", NodeId="shop-a")
    assert year_at(url) == 1959
    set_year(direct, 1960)
    database.clock.advance(0.9)
    assert year_at(url) == 1959
    database.clock.advance(0.2)
    assert year_at(url) == 1960


def test_clusters_survive_restarts_and_caches_do_not(tmp_path: Path) -> None:
    settings = Settings(data_dir=str(tmp_path), port=0)
    with server(settings) as database:
        assert database.endpoint
        dax = database.client("dax", region_name=REGION)
        dax.create_parameter_group(ParameterGroupName="short")
        create(dax, nodes=2, ParameterGroupName="short", Tags=[{"Key": "a", "Value": "b"}])
        direct = make_table(database)
        before = urls(dax)
        with DaxClient(before[0]) as client:
            list_id = client.call("defineAttributeListId", ["x", "y"])
        assert [year_at(url) for url in before] == [1958] * 2
        set_year(direct, 1959)
        assert [year_at(url) for url in before] == [1958] * 2
    with server(settings) as database:
        assert database.endpoint
        dax = database.client("dax", region_name=REGION)
        cluster = described(dax)
        assert (cluster["Status"], cluster["ActiveNodes"]) == ("available", 2)
        assert cluster["ParameterGroup"]["ParameterGroupName"] == "short"
        assert [year_at(url) for url in urls(dax)] == [1959] * 2
        with DaxClient(urls(dax)[1]) as client:
            assert client.call("defineAttributeList", list_id) == ["x", "y"]
        assert dax.list_tags(ResourceName=cluster["ClusterArn"])["Tags"] == [{"Key": "a", "Value": "b"}]


def test_a_reset_ends_the_nodes_and_a_snapshot_brings_them_back(dax: Any, database: Database) -> None:
    make_table(database)
    create(dax, nodes=2)
    found = urls(dax)
    snapshot = database.snapshot()
    assert year_at(found[0]) == 1958
    database.reset()
    assert dax.describe_clusters()["Clusters"] == []
    create(dax, "other")
    with pytest.raises(OSError, match="refused"):
        DaxClient(found[0])
    database.restore(snapshot)
    assert [one["ClusterName"] for one in dax.describe_clusters()["Clusters"]] == ["shop"]
    assert [year_at(url) for url in urls(dax)] == [1958] * 2


def test_the_cluster_of_the_settings_is_there_for_everyone(tmp_path: Path) -> None:
    with server(Settings(data_dir=str(tmp_path), port=0, dax_port=0)) as database:
        url = database.dax_endpoint
        for region in ("eu-west-1", "us-east-1"):
            dax = database.client("dax", region_name=region)
            assert described(dax, "default")["ClusterDiscoveryEndpoint"]["URL"] == url
            with DaxClient(str(url), authorize=authorization(region=region)) as client:
                assert len(client.call("endpoints")) == 1
        dax.create_parameter_group(ParameterGroupName="mine")
        dax.update_cluster(ClusterName="default", ParameterGroupName="mine")
        assert described(dax, "default")["ParameterGroup"]["ParameterGroupName"] == "mine"
        assert code_of(dax.delete_parameter_group, ParameterGroupName="mine") == "InvalidParameterGroupStateFault"
        dax.increase_replication_factor(ClusterName="default", NewReplicationFactor=2)
        with DaxClient(str(url)) as client:
            assert len(client.call("endpoints")) == 2
        with DaxClient(str(url)) as client:
            make_table(database)
            assert year_at(str(url)) == 1958
            database.reset()
            make_table(database, 1960)
            assert client.item_of(client.call("getItem", b"music", b"Nina", None)[0]) == {"year": 1960}
        assert described(database.client("dax"), "default")["TotalNodes"] == 1
        with DaxClient(str(url)) as client:
            assert len(client.call("endpoints")) == 1
    with server(Settings(data_dir=str(tmp_path), port=0)) as database:
        assert database.endpoint
        assert database.dax_endpoint is None
        assert database.client("dax").describe_clusters()["Clusters"] == []


@pytest.mark.parametrize("seed", range(4))
def test_random_changes_leave_the_nodes_that_a_simulation_has(dax: Any, seed: int) -> None:
    """After each change, every node that is described listens, and knows the same cluster."""
    chance = random.Random(seed)
    model: dict[str, list[str]] = {}
    found: dict[str, str] = {}
    for _ in range(40):
        name = chance.choice(["red", "green", "blue"])
        nodes = model.get(name)
        if nodes is None:
            factor = chance.randint(1, 4)
            create(dax, name, factor)
            model[name] = [f"{name}-{letter}" for letter in "abcd"[:factor]]
            found[name] = discovery_url(dax, name)
        else:
            kind = chance.choice(["more", "fewer", "reboot", "update", "delete"])
            if kind == "more" and len(nodes) < 8:
                factor = len(nodes) + chance.randint(1, 3)
                dax.increase_replication_factor(ClusterName=name, NewReplicationFactor=factor)
                free = [f"{name}-{letter}" for letter in "abcdefghijk" if f"{name}-{letter}" not in nodes]
                model[name] = sorted([*nodes, *free[: factor - len(nodes)]])
            elif kind == "fewer" and len(nodes) > 1:
                removed = chance.sample(nodes, chance.randint(1, len(nodes) - 1))
                factor = len(nodes) - len(removed)
                dax.decrease_replication_factor(ClusterName=name, NewReplicationFactor=factor, NodeIdsToRemove=removed)
                model[name] = [node for node in nodes if node not in removed]
            elif kind == "reboot":
                dax.reboot_node(ClusterName=name, NodeId=chance.choice(nodes))
            elif kind == "update":
                dax.update_cluster(ClusterName=name, Description=str(chance.random()))
            elif kind == "delete":
                dax.delete_cluster(ClusterName=name)
                del model[name], found[name]
        clusters = dax.describe_clusters()["Clusters"]
        assert {one["ClusterName"]: [node["NodeId"] for node in one["Nodes"]] for one in clusters} == model
        for cluster in clusters:
            ports = ports_at(node_url(cluster, chance.randrange(len(cluster["Nodes"]))))
            assert sorted(ports) == sorted(node["Endpoint"]["Port"] for node in cluster["Nodes"])
            assert ports_at(cluster["ClusterDiscoveryEndpoint"]["URL"]) == ports
        assert {one["ClusterName"]: one["ClusterDiscoveryEndpoint"]["URL"] for one in clusters} == found


def requests_counted(database: Database) -> float:
    """GetItem requests of the cluster `shop` in the last minutes, by CloudWatch."""
    now = datetime.fromtimestamp(database.clock.now(), UTC)
    reply = database.client("cloudwatch", region_name=REGION).get_metric_statistics(
        Namespace="AWS/DAX",
        MetricName="GetItemRequestCount",
        Dimensions=[{"Name": "ClusterId", "Value": "shop"}],
        StartTime=now - timedelta(minutes=5),
        EndTime=now + timedelta(minutes=1),
        Period=60,
        Statistics=["Sum"],
    )
    return float(sum(point["Sum"] for point in reply["Datapoints"]))


def test_what_a_node_has_counted_before_it_stops_is_not_lost(dax: Any, database: Database) -> None:
    database.clock.freeze()
    make_table(database)
    create(dax, nodes=2)
    for _ in range(3):
        assert year_at(urls(dax)[0]) == 1958
    dax.reboot_node(ClusterName="shop", NodeId="shop-a")
    assert year_at(urls(dax)[0]) == 1958
    assert year_at(urls(dax)[1]) == 1958
    dax.decrease_replication_factor(ClusterName="shop", NewReplicationFactor=1)
    assert requests_counted(database) == 5


def test_attribute_lists_are_written_again_after_a_reset(tmp_path: Path) -> None:
    settings = Settings(data_dir=str(tmp_path), port=0, dax_port=0)
    with server(settings) as database:
        with DaxClient(str(database.dax_endpoint)) as client:
            list_id = client.call("defineAttributeListId", ["x", "y"])
        database.reset()
        with DaxClient(str(database.dax_endpoint)) as client:
            assert client.call("defineAttributeListId", ["x", "y"]) == list_id
    with server(settings) as database, DaxClient(str(database.dax_endpoint)) as client:
        assert client.call("defineAttributeList", list_id) == ["x", "y"]


def test_a_server_on_all_addresses_is_found_on_the_loopback() -> None:
    with server(Settings(data_dir=None, host="0.0.0.0", port=0, dax_port=0)) as database:
        assert database.endpoint.startswith("http://127.0.0.1:")
        assert database.dax_endpoint is not None
        assert database.dax_endpoint.startswith("dax://127.0.0.1:")
        (cluster,) = database.client("dax", region_name=REGION).describe_clusters()["Clusters"]
        assert cluster["ClusterDiscoveryEndpoint"]["Address"] == "127.0.0.1"


FEW = Settings(data_dir=None, port=0, max_connections=16)
"""Those of a server that runs two nodes."""


def test_a_server_has_nodes_as_its_descriptors_allow() -> None:
    """Regions are free text, so the quota of an account and Region bounds nothing."""
    with server(FEW) as database:
        assert database.endpoint
        dax, elsewhere = (database.client("dax", region_name=region) for region in (REGION, "anywhere"))
        create(dax, nodes=2)
        assert code_of(create, dax=elsewhere) == "NodeQuotaForCustomerExceededFault"
        dax.decrease_replication_factor(ClusterName="shop", NewReplicationFactor=1)
        create(elsewhere)
        assert code_of(dax.increase_replication_factor, ClusterName="shop", NewReplicationFactor=2) == (
            "NodeQuotaForCustomerExceededFault"
        )
        assert len(urls(dax)) == 1


def statuses(dax: Any) -> list[str]:
    return [node["NodeStatus"] for node in described(dax)["Nodes"]]


@pytest.mark.parametrize("reason", ["quota", "descriptors"])
def test_a_folder_with_more_nodes_than_the_server_can_run_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, reason: str
) -> None:
    real = DaxNodes._listen

    async def listen(self: DaxNodes, running: Any, port: int) -> Any:
        if len(self._running) == 2:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        return await real(self, running, port)

    settings = Settings(data_dir=str(tmp_path), port=0)
    with server(settings) as database:
        assert database.endpoint
        create(database.client("dax", region_name=REGION), nodes=3)
    if reason == "quota":
        settings = msgspec.structs.replace(settings, max_connections=16)
    else:
        monkeypatch.setattr(DaxNodes, "_listen", listen)
    with server(settings) as database:
        assert database.endpoint
        dax = database.client("dax", region_name=REGION)
        assert statuses(dax) == ["available", "available", "failed"]
        assert described(dax)["ActiveNodes"] == 2
        (line,) = caplog.messages
        assert line.startswith("node shop-c of a DAX cluster does not run: ")
        with DaxClient(urls(dax)[0]) as client:
            assert len(client.call("endpoints")) == 2
        dax.decrease_replication_factor(ClusterName="shop", NewReplicationFactor=2, NodeIdsToRemove=["shop-a"])
        dax.reboot_node(ClusterName="shop", NodeId="shop-c")
        assert statuses(dax) == ["available", "available"]
