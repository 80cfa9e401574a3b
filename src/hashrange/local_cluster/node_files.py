"""Which files does a node of Cassandra read at its start? cassandra.yaml, and logback.xml for its log.

What is not in cassandra.yaml has Cassandra's own default, as in the clusters of operators.
Source: conf/cassandra.yaml and Config.java of Cassandra 5.0.
"""

import json
import os

from hashrange.local_cluster.cluster_file import CassandraNode, ClusterRecord
from hashrange.local_cluster.java import TEMPORARY

LOG = "system.log"
"""The node's own log, in its folder; what Java itself says is in another one."""
_TOKENS = 1 << 64
_LEAST_TOKEN = -(1 << 63)
_LOGBACK = """<configuration>
  <appender name="file" class="ch.qos.logback.core.rolling.RollingFileAppender">
    <file>${cassandra.logdir}/system.log</file>
    <rollingPolicy class="ch.qos.logback.core.rolling.FixedWindowRollingPolicy">
      <fileNamePattern>${cassandra.logdir}/system.log.%i</fileNamePattern>
      <minIndex>1</minIndex>
      <maxIndex>2</maxIndex>
    </rollingPolicy>
    <triggeringPolicy class="ch.qos.logback.core.rolling.SizeBasedTriggeringPolicy">
      <maxFileSize>10MB</maxFileSize>
    </triggeringPolicy>
    <encoder>
      <pattern>%-5level [%thread] %date{ISO8601} %logger{0} - %msg%n</pattern>
    </encoder>
  </appender>
  <root level="INFO">
    <appender-ref ref="file"/>
  </root>
</configuration>
"""


def write_node_files(folder: str, record: ClusterRecord, node: CassandraNode) -> None:
    """Write what a node reads into its folder, which is made if it is missing. Raises OSError."""
    os.makedirs(os.path.join(folder, TEMPORARY), mode=0o700, exist_ok=True)
    for name, text in (("cassandra.yaml", cassandra_yaml(folder, record, node)), ("logback.xml", _LOGBACK)):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)


def cassandra_yaml(folder: str, record: ClusterRecord, node: CassandraNode) -> str:
    """The settings of a node. The values are JSON, which YAML reads too."""
    seeds = ",".join(f"{one.address}:{record.storage_port}" for one in record.nodes)
    settings: dict[str, object] = {
        "cluster_name": f"hashrange at {record.nodes[0].address}",
        # The nodes share the ring evenly. One token each: more of them make the start, and reads of all rows, longer.
        "num_tokens": 1,
        "initial_token": _LEAST_TOKEN + record.nodes.index(node) * (_TOKENS // len(record.nodes)),
        "partitioner": "org.apache.cassandra.dht.Murmur3Partitioner",
        "endpoint_snitch": "SimpleSnitch",
        # Every node is a seed: all start at the same time, and none copies rows from another first.
        "seed_provider": [
            {"class_name": "org.apache.cassandra.locator.SimpleSeedProvider", "parameters": [{"seeds": seeds}]}
        ],
        "auto_bootstrap": False,
        "listen_address": node.address,
        "rpc_address": node.address,
        "storage_port": record.storage_port,
        "native_transport_port": record.cql_port,
        "data_file_directories": [os.path.join(folder, "data")],
        "commitlog_directory": os.path.join(folder, "commitlog"),
        "saved_caches_directory": os.path.join(folder, "saved_caches"),
        "hints_directory": os.path.join(folder, "hints"),
        "commitlog_sync": record.commitlog_sync,
        # What Cassandra's NEWS and Config.java recommend with v2, for clusters that are repaired regularly. Here nobody
        # repairs: the last state of each partition stays, which is little.
        "paxos_variant": "v2",
        "paxos_state_purging": "repaired",
        "auto_snapshot": False,
    }
    if record.commitlog_sync == "periodic":
        settings["commitlog_sync_period"] = "10000ms"
    return "".join(f"{name}: {json.dumps(value)}\n" for name, value in settings.items())
