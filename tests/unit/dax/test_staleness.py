"""What a cluster answers is exactly what the rules say, however stale: random operations through its nodes and past
them, against a slow simulation.
"""

import random
from typing import Any

import pytest

from hashrange.dax.node_caches import REPLICATION_SECONDS
from hashrange.settings import Settings
from hashrange.testing import Database, server
from tests.support.dax_client import DaxClient, all_values, expression

REGION = "eu-west-1"
RECORD_SECONDS, QUERY_SECONDS = 20.0, 7.0
PARAMETERS = [
    {"ParameterName": "record-ttl-millis", "ParameterValue": str(int(RECORD_SECONDS * 1000))},
    {"ParameterName": "query-ttl-millis", "ParameterValue": str(int(QUERY_SECONDS * 1000))},
]
NAMES = ["a", "b", "c"]


class Cluster:
    """A cluster of some nodes, and what each node must know."""

    def __init__(self, database: Database, nodes: int, seed: int) -> None:
        self.chance = random.Random(seed)
        self.clock = database.clock
        self.direct = database.client(region_name=REGION)
        self.direct.create_table(
            TableName="films",
            KeySchema=[{"AttributeName": "name", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "name", "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
        )
        control = database.client("dax", region_name=REGION)
        control.create_parameter_group(ParameterGroupName="short")
        control.update_parameter_group(ParameterGroupName="short", ParameterNameValues=PARAMETERS)
        control.create_cluster(
            ClusterName="shop",
            NodeType="dax.t3.small",
            ReplicationFactor=nodes,
            IamRoleArn="arn:aws:iam::000000000000:role/dax",
            ParameterGroupName="short",
        )
        (cluster,) = control.describe_clusters(ClusterNames=["shop"])["Clusters"]
        endpoints = [node["Endpoint"] for node in cluster["Nodes"]]
        self.clients = [DaxClient(f"dax://{one['Address']}:{one['Port']}") for one in endpoints]
        self.stored: dict[str, int] = {}
        self.items: list[dict[str, tuple[int | None, float]]] = [{} for _ in range(nodes)]
        """Of each node: name → value, or None for no item, and the end of its life."""
        self.pages: list[tuple[int, float] | None] = [None] * nodes
        """Of each node: sum of a scan, and the end of its life."""
        self.coming: list[tuple[float, int, str, int | None]] = []
        """Writes that a node will know of: time, node, name, value."""

    def now(self) -> float:
        return float(self.clock.now())

    def arrive(self, node: int) -> None:
        """Take over what the node knows by now."""
        due = [one for one in self.coming if one[1] == node and one[0] <= self.now()]
        self.coming = [one for one in self.coming if one not in due]
        for _, _, name, value in due:
            if value is None:
                self.items[node].pop(name, None)
            elif name in self.items[node]:
                self.items[node][name] = (value, self.now() + RECORD_SECONDS)

    def read(self, node: int, name: str) -> int | None:
        """What a node must answer."""
        self.arrive(node)
        known = self.items[node].get(name)
        if known is not None and known[1] > self.now():
            return known[0]
        value = self.stored.get(name)
        self.items[node][name] = (value, self.now() + RECORD_SECONDS)
        return value

    def write(self, node: int, name: str, value: int | None) -> None:
        self.arrive(node)  # what has been written before does not replace it later
        self.items[node].pop(name, None)
        if value is not None:
            self.items[node][name] = (value, self.now() + RECORD_SECONDS)
        self.coming += [
            (self.now() + REPLICATION_SECONDS, other, name, value)
            for other in range(len(self.clients))
            if other != node
        ]

    # --- operations -----------------------------------------------------------------------------

    def step(self) -> None:
        node, name, number = (
            self.chance.randrange(len(self.clients)),
            self.chance.choice(NAMES),
            self.chance.randrange(100),
        )
        client = self.clients[node]
        kind = self.chance.choice(
            ["get", "get", "fresh", "put", "delete", "past", "past delete", "scan", "batch", "wait"]
        )
        if kind == "get":
            reply = client.call("getItem", b"films", name.encode(), None)
            assert (None if reply is None else all_values(reply[0])[1]) == self.read(node, name)
        elif kind == "fresh":
            reply = client.call("getItem", b"films", name.encode(), {2: True})
            assert (None if reply is None else all_values(reply[0])[1]) == self.stored.get(name)
        elif kind == "put":
            client.call("updateItem", b"films", name.encode(), {8: expression([[19, [18, "n"], [17, 0]]], number)})
            self.stored[name] = number
            self.write(node, name, number)
        elif kind == "delete":
            client.call("deleteItem", b"films", name.encode(), None)
            self.stored.pop(name, None)
            self.write(node, name, None)
        elif kind == "past":
            self.direct.put_item(TableName="films", Item={"name": {"S": name}, "n": {"N": str(number)}})
            self.stored[name] = number
        elif kind == "past delete":
            self.direct.delete_item(TableName="films", Key={"name": {"S": name}})
            self.stored.pop(name, None)
        elif kind == "scan":
            self.scan(node)
        elif kind == "batch":
            (found, _), _ = client.call("batchGetItem", {"films": [False, None, [one.encode() for one in NAMES]]}, None)
            values = {key.decode(): all_values(content)[1] for key, content in pairs(found["films"])}
            assert {one: values.get(one) for one in NAMES} == {one: self.read(node, one) for one in NAMES}
        else:
            self.clock.advance(self.chance.choice([0.05, 0.1, 1, 7, 20]))

    def scan(self, node: int) -> None:
        reply = self.clients[node].call("scan", b"films", None)
        total = sum(all_values(content)[1] for _, content in reply[7])
        known = self.pages[node]
        if known is None or known[1] <= self.now():
            known = self.pages[node] = (sum(self.stored.values()), self.now() + QUERY_SECONDS)
        assert total == known[0]


def pairs(flat: list[Any]) -> list[tuple[bytes, bytes]]:
    return list(zip(flat[::2], flat[1::2], strict=True))


@pytest.mark.parametrize(("nodes", "seed"), [(1, 1), (1, 2), (2, 3), (3, 4), (3, 5)])
def test_random_operations_are_answered_by_the_rules(nodes: int, seed: int) -> None:
    with server(Settings(data_dir=None, port=0, dax_port=0)) as database:
        assert database.dax_endpoint
        database.clock.freeze()
        cluster = Cluster(database, nodes, seed)
        for _ in range(250):
            cluster.step()
        for client in cluster.clients:
            client.close()
