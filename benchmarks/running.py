"""How is a server started, filled and stopped? One running contender with its table."""

import os
import re
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.client import Client, Connection
from benchmarks.generator import LoadFailed
from benchmarks.items import ItemMaker
from benchmarks.loader import create_table, load_items
from benchmarks.peers import home
from benchmarks.processes import Cores, Process, folder_mb, free_port
from benchmarks.servers import Contender
from benchmarks.signing import Signer
from benchmarks.workloads import Plan

READY_SECONDS_MAX = 60.0
READ_BYTES = 1 << 20


class Running:
    """A server that answers, with the harness's state about it."""

    def __init__(self, contender: Contender, process: Process, port: int, folder: Path, ready_ms: float) -> None:
        self.contender = contender
        self.process = process
        self.port = port
        self.folder = folder
        self.ready_ms = ready_ms
        self.client = Client(port)
        self.warm: set[str] = set()
        """Names of the workloads that the server was warmed up with."""
        self.sent: Counter[str] = Counter()
        """Requests that were replayed, by workload."""
        self.indexed: set[int] = set()
        """Numbers of indexes for which a further table exists."""

    def fill(
        self, plan: Plan, item_bytes: int, table_items: int, on_progress: Callable[[int], None] = lambda _: None
    ) -> ItemMaker:
        """Create the table and write its items; return the maker of the items."""
        create_table(self.client, plan)
        maker = ItemMaker(item_bytes, plan.sort_keys_per_partition)
        self.add(plan, maker, range(table_items), on_progress)
        return maker

    def fill_indexed(self, plan: Plan, maker: ItemMaker, table_items: int, indexes: int) -> None:
        """Create the table with this many indexes and the same items, unless it exists."""
        if not indexes or indexes in self.indexed:
            return
        create_table(self.client, plan, indexes)
        pipelines = self.contender.pipelines
        load_items(self.client, plan, maker, range(table_items), pipelines=pipelines, indexes=indexes)
        self.client.close()
        self.indexed.add(indexes)

    def add(
        self, plan: Plan, maker: ItemMaker, numbers: range, on_progress: Callable[[int], None] = lambda _: None
    ) -> None:
        """Write items with further numbers."""
        load_items(self.client, plan, maker, numbers, pipelines=self.contender.pipelines, on_progress=on_progress)
        self.client.close()

    def disk_mb(self) -> float | None:
        """Return the disk space of the server's data; None in memory."""
        return folder_mb(self.folder / "data") if self.contender.kind == "disk" else None

    def read_files(self) -> None:
        """Read the server's files into the page cache, so that later measurements do not depend on the disk."""
        for file in (self.folder / "data").rglob("*"):
            if file.is_file():
                with file.open("rb", buffering=0) as stream:
                    while stream.read(READ_BYTES):
                        pass


@contextmanager
def running(contender: Contender, cores: Cores, environment: dict[str, str] | None = None) -> Iterator[Running]:
    """Start a new server in an empty folder; it is stopped and its folder removed at the end.

    Raises peers.NotInstallable, and LoadFailed when the server does not answer.
    """
    places = home() / "run"
    places.mkdir(exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=f"{contender.name}-{os.getpid()}-", dir=places))
    port = free_port()
    try:
        launch = contender.launch(port, folder)
        process = Process(launch.command, folder, cores.server, {**launch.environment, **(environment or {})})
        try:
            server = Running(contender, process, port, folder, wait_until_ready(process, port))
            yield server
            server.client.close()
        finally:
            process.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def remove_leftovers() -> None:
    """Remove the folders of killed runs; those of running harnesses stay."""
    for folder in (home() / "run").glob("*"):
        found = re.search(r"-(\d+)-[^-]+$", folder.name)
        if found and not Path("/proc", found.group(1)).exists():
            shutil.rmtree(folder, ignore_errors=True)


def wait_until_ready(process: Process, port: int) -> float:
    """Return milliseconds from the start to the first answer to a signed request; raises LoadFailed."""
    request = Signer(f"127.0.0.1:{port}").request("ListTables", b"{}")
    deadline = time.perf_counter() + READY_SECONDS_MAX
    while time.perf_counter() < deadline:
        try:
            connection = Connection(port, timeout_seconds=5)
            connection.send(request)
            status, body = connection.receive()
        except OSError:
            if not process.is_running():
                raise LoadFailed(f"it ended at once: {process.output()[-600:]}") from None
            time.sleep(0.001)
            continue
        answered_at = time.perf_counter()
        connection.close()
        if status != 200:
            raise LoadFailed(f"its first answer was {status}: {body[:300].decode(errors='replace')}")
        return (answered_at - process.started_at) * 1000
    raise LoadFailed(f"it did not answer within {READY_SECONDS_MAX:.0f} s")
