"""How much memory do DAX's caches and connections take? `python -m benchmarks.dax_capacity`: caches that are full,
and 10,000 connections to a server.

Measured: a process with full caches of 200 MB has grown by 93 to 100 % of that, with items of 0 to 10,000 bytes
and replies of 500 and 5,000. Each of 10,000 connections takes 2.7 KB of the server's memory,
and a GetItem through each of them is answered.
"""

import gc
import os
import resource
from multiprocessing import get_context
from pathlib import Path

from benchmarks.dax import dax_server, request
from benchmarks.tables import number, table
from hashrange.dax.node_caches import NodeCaches
from hashrange.dax.node_host import NodeTerms
from hashrange.wire.dax.writing import NULL

MEMORY_BYTES = 200_000_000
CONNECTIONS = 10_000
PAGE_BYTES = resource.getpagesize()


def resident_bytes(process: int | str = "self") -> int:
    """Memory of a process."""
    return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * PAGE_BYTES


def growth_share(kind: str, size_bytes: int) -> float:
    """Growth of this process by full caches, as a share of their memory, after as much again has been evicted."""
    gc.disable()
    before = resident_bytes()
    caches = NodeCaches(NodeTerms(300_000, 300_000, MEMORY_BYTES), lambda: 0.0)
    place = 0
    while caches.lru.evicted_bytes < MEMORY_BYTES:
        place += 1
        if kind == "item":
            caches.keep_item(("000000000000", "eu-west-1", "music", b"key-%020d" % place), os.urandom(size_bytes))
        else:
            key = ("000000000000", "eu-west-1", "Query", "music", b"key-%020d" % place, ((9, 5), (12, place)))
            caches.keep_reply(key, len(repr(key)), os.urandom(size_bytes))
    return (resident_bytes() - before) / MEMORY_BYTES


def bytes_of_a_connection() -> float:
    """Memory that the server takes for each of many connections that have asked for an item."""
    with dax_server() as server:
        before = resident_bytes(server.pid)
        connections = [server.connect() for _ in range(CONNECTIONS)]
        for one in connections:
            one.sendall(request("getItem", 0, NULL))
            assert one.recv(4096), "there is no reply"
        grown = resident_bytes(server.pid) - before
        for one in connections:
            one.close()
    return grown / CONNECTIONS


def main() -> None:
    """Measure and print."""
    rows = []
    for kind, size in (("item", 0), ("item", 100), ("item", 1_000), ("item", 10_000), ("reply", 500), ("reply", 5_000)):
        with get_context("spawn").Pool(1) as pool:
            share = pool.apply(growth_share, (kind, size))
        rows.append((kind, f"{size:,}", number(share * 100)))
    print(table(("entries", "bytes each", "growth, % of the caches' memory"), rows))
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, CONNECTIONS * 3)), hard))
    print(f"{CONNECTIONS:,} connections: {bytes_of_a_connection():,.0f} bytes each")


if __name__ == "__main__":
    main()
