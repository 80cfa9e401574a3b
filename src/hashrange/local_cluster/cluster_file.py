"""What is remembered of a cluster between two commands? Its nodes and servers, where they listen, and their processes:
the file cluster.json in the cluster's folder.
"""

import os
from typing import Literal

import msgspec

from hashrange.local_cluster.failures import ClusterFailure
from hashrange.local_cluster.processes import ProcessMark

FILE = "cluster.json"
VERSION = 1
CommitlogSync = Literal["batch", "periodic"]


class CassandraNode(msgspec.Struct):
    """A node, called `1`, `2`, …."""

    name: str
    address: str
    process: ProcessMark | None = None


class HashrangeServer(msgspec.Struct):
    """A server over the nodes, called `s1`, `s2`, …."""

    name: str
    url: str | None = None
    """None until it has been ready for the first time; later starts have the same port."""
    process: ProcessMark | None = None


ClusterMember = CassandraNode | HashrangeServer


class ClusterRecord(msgspec.Struct, kw_only=True):
    """A cluster on this machine."""

    version: int = VERSION
    commitlog_sync: CommitlogSync
    heap_mb: int
    keyspace: str
    cql_port: int
    storage_port: int
    nodes: list[CassandraNode]
    servers: list[HashrangeServer]
    server_options: list[str]
    """What stands behind `hashrange serve` beside address, port and store."""

    @property
    def members(self) -> list[ClusterMember]:
        """All nodes and servers."""
        return [*self.nodes, *self.servers]


class _Versioned(msgspec.Struct):
    version: int


def read_record(folder: str) -> ClusterRecord | None:
    """The cluster of a folder; None if there is none. Raises ClusterFailure."""
    path = os.path.join(folder, FILE)
    try:
        with open(path, "rb") as file:
            content = file.read()
        version = msgspec.json.decode(content, type=_Versioned).version
        if version != VERSION:
            raise ClusterFailure(f"{path} is of version {version}, and this Hashrange knows {VERSION}. {_WAY_OUT}")
        return msgspec.json.decode(content, type=ClusterRecord)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ClusterFailure(f"{path} cannot be read: {error.strerror}. Name another folder with --dir.") from None
    except msgspec.DecodeError:
        raise ClusterFailure(f"{path} is damaged. {_WAY_OUT}") from None


_WAY_OUT = "End the processes that use this folder, remove the folder, and make the cluster anew."


def write_record(folder: str, record: ClusterRecord) -> None:
    """Replace what is remembered of the cluster of a folder. Raises OSError."""
    path = os.path.join(folder, FILE)
    with open(f"{path}.new", "wb") as file:
        file.write(msgspec.json.format(msgspec.json.encode(record)))
    os.replace(f"{path}.new", path)
