"""How long do reset, restore and fork take? A program for a fresh process:
`contents ITEMS LITTLE MUCH ROUNDS` prints milliseconds as JSON.

A database in memory is filled with ITEMS items of 400 bytes. Before each fork, LITTLE or MUCH of them are replaced.
"""

import json
import sys
import time
from collections.abc import Callable, Iterable
from itertools import islice

from botocore.awsrequest import AWSPreparedRequest, AWSRequest

from benchmarks.items import ItemMaker
from benchmarks.loader import ITEMS_PER_BATCH, table_arguments
from benchmarks.workloads import Plan, read_plan
from hashrange.testing import Database, server

ITEM_BYTES = 400
EVENT = "before-send.dynamodb.BatchWriteItem"


class Writer:
    """Writes items to a database without boto3's work per request:
    the request of one batch serves, with other bodies.
    """

    def __init__(self, database: Database, plan: Plan) -> None:
        self._plan = plan
        self._maker = ItemMaker(ITEM_BYTES, plan.sort_keys_per_partition)
        self._client = database.client()
        self._events = self._client.meta.events
        self._revision = 0

    def create_table(self) -> None:
        """Create the table."""
        self._client.create_table(**table_arguments(self._plan, 0))

    def write(self, numbers: Iterable[int]) -> None:
        """Write the items with these numbers, each with another content than before."""
        self._revision += 1
        headers, url = self._head()
        waiting = iter(numbers)
        while chosen := list(islice(waiting, ITEMS_PER_BATCH)):
            puts = ",".join(
                f'{{"PutRequest":{{"Item":{self._maker.item(number, self._revision)}}}}}' for number in chosen
            )
            body = f'{{"RequestItems":{{"{self._plan.table}":[{puts}]}}}}'.encode()
            request = AWSRequest("POST", url, headers=headers, data=body).prepare()
            _, reply = self._events.emit_until_response(EVENT, request=request)
            assert reply.status_code == 200, reply.content
            assert json.loads(reply.content) == {"UnprocessedItems": {}}

    def _head(self) -> tuple[dict[str, str], str]:
        """Headers and URL of a signed BatchWriteItem."""
        seen: list[AWSPreparedRequest] = []

        def see(request: AWSPreparedRequest, **_: object) -> None:
            seen.append(request)

        self._events.register_first(EVENT, see)
        missing = {"DeleteRequest": {"Key": {"pk": {"S": "nobody"}, "sk": {"S": "nothing"}}}}
        self._client.batch_write_item(RequestItems={self._plan.table: [missing]})
        self._events.unregister(EVENT, see)
        headers = {name: as_text(value) for name, value in seen[0].headers.items() if name != "Content-Length"}
        return headers, str(seen[0].url)


def as_text(value: str | bytes) -> str:
    """A header's value as text."""
    return value.decode("latin-1") if isinstance(value, bytes) else value


def measure_ms(run: Callable[[], object]) -> float:
    """Milliseconds of one call."""
    began = time.perf_counter()
    run()
    return (time.perf_counter() - began) * 1000


def scattered(items: int, count: int, turn: int) -> Iterable[int]:
    """`count` different numbers below `items`, spread over all of them."""
    step = max(1, items // count)
    return range(turn % step, items, step)


def fork_ms(database: Database) -> float:
    """Milliseconds of a fork; its end is not measured."""
    began = time.perf_counter()
    fork = database.fork()
    took = (time.perf_counter() - began) * 1000
    fork.close()
    return took


def measure(items: int, little: int, much: int, rounds: int) -> dict[str, list[float]]:
    """Milliseconds by what was done."""
    figures: dict[str, list[float]] = {"fork-little": [], "fork-much": [], "restore": [], "reset": []}
    plan = read_plan()
    with server() as database:
        writer = Writer(database, plan)
        writer.create_table()
        writer.write(range(items))
        for turn in range(rounds):
            if turn:
                writer.write(scattered(items, much, turn))
            figures["fork-much"].append(fork_ms(database))
            writer.write(scattered(items, little, turn))
            figures["fork-little"].append(fork_ms(database))
        snapshot = database.snapshot()
        for turn in range(rounds):
            writer.write(scattered(items, little, turn))
            figures["restore"].append(measure_ms(lambda: database.restore(snapshot)))
        for _ in range(rounds):
            database.restore(snapshot)
            figures["reset"].append(measure_ms(database.reset))
    return figures


def main() -> None:
    """Measure and print."""
    items, little, much, rounds = map(int, sys.argv[1:])
    print(json.dumps(measure(items, little, much, rounds)))


if __name__ == "__main__":
    main()
