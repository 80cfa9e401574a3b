"""Which requests do both commits get? The same files, signed once, and again before the signatures expire."""

import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.items import ItemMaker
from benchmarks.loader import batch_bodies, create_table
from benchmarks.pair_side import HOST, Side
from benchmarks.prepare import prepare_requests, prepare_undo, write_requests
from benchmarks.signing import Signer
from benchmarks.workloads import Plan, Workload

UNDO = "-undo"
SIGNED_SECONDS_MAX = 300.0
"""Age after which requests are signed anew. A server accepts a signature for 900 s; a pair lasts far less than 600 s.
"""


class Requests:
    """Files with the requests of all workloads and tables, in one folder."""

    def __init__(self, plan: Plan, folder: Path) -> None:
        self._plan = plan
        self._folder = folder
        self._maker = ItemMaker(plan.item_bytes[0], plan.sort_keys_per_partition)
        self._signed_at: dict[str, float] = {}

    def fill(self, side: Side, indexes: int) -> None:
        """Create the table with this many indexes and write its items."""
        plan = self._plan
        table = plan.table_name(indexes)

        def make() -> list[bytes]:
            signer = Signer(HOST)
            bodies = batch_bodies(table, self._maker, range(plan.table_items))
            return [signer.request(operation, body) for operation, body, _ in bodies]

        create_table(side, plan, indexes)
        count = side.load(table, self._file(table, make))
        side.connect()
        side.run(table, 0, count)

    def load(self, side: Side, workload: Workload) -> None:
        """Have the side read the requests of a workload, and the requests that undo them."""
        plan, maker, items = self._plan, self._maker, self._plan.table_items
        assert workload.keys != "pages", "a Scan's requests depend on what a server answers"
        names = {workload.name: lambda: prepare_requests(plan, workload, maker, items, HOST, side).requests}
        if workload.undo:
            names[workload.name + UNDO] = lambda: prepare_undo(plan, workload, maker, items, HOST)
        for name, make in names.items():
            side.load(name, self._file(name, make))

    def _file(self, name: str, make: Callable[[], list[bytes]]) -> Path:
        file = self._folder / f"{name}.requests"
        now = time.monotonic()
        if now - self._signed_at.get(name, float("-inf")) > SIGNED_SECONDS_MAX:
            write_requests(file, make())
            self._signed_at[name] = now
        return file
