"""Which writes does a tortured server get? Threads write keys of their own,
and note what was sent and what was acknowledged.

Each thread counts up; a number decides which operation writes its items, so that every path to the disk is taken:
single puts and updates, transactions, batches, deletions, and a counter that is written repeatedly.
"""

import contextlib
import threading
import time
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

import msgspec

from benchmarks.client import Connection, ReplyError
from benchmarks.signing import Signer
from torture.kinds.kind import plain
from torture.kinds.needs import key, table
from torture.loss.history import History, Value

TABLE = "numbers"
MAKE_TABLE = table(TABLE)
COUNTER = "counter"
DELETE_BACK = 3
WRITERS = 6
REFUSED_PAUSE_SECONDS = 0.01
TIMEOUT_SECONDS = 10.0
FILLER_BYTES = (100, 5_000)
"""Bytes of an item's filler. Small items stay in one log for long; larger ones fill several logs per round."""


class Writer(threading.Thread):
    """Writes numbers after `last` until it is told to stop, or its connection ends."""

    def __init__(self, port: int, name: str, history: History, last: int, filler_bytes: int) -> None:
        super().__init__(daemon=True)
        self.port = port
        self.writer_name = name
        self.history = history
        self.last = last
        self.filler_bytes = filler_bytes
        self.stopping = threading.Event()
        self.refused = 0
        """Number of requests that were answered, but not acknowledged as written."""
        self.newest_sent_at = 0.0
        """Time at which the last acknowledged request was sent."""
        self.fault = ""
        self.end_of_connection = ""
        """The connection's error, after a kill or when the server stops answering."""

    def run(self) -> None:
        """Write until stopped or until the connection ends."""
        try:
            with contextlib.closing(Connection(self.port, TIMEOUT_SECONDS)) as connection:
                signer = Signer(f"127.0.0.1:{self.port}")
                while not self.stopping.is_set():
                    self.last += 1
                    self.write(connection, signer, self.last)
        except (OSError, ValueError) as error:
            self.end_of_connection = f"{type(error).__name__}: {error}"
        except ReplyError as error:
            self.fault = str(error)

    def write(self, connection: Connection, signer: Signer, number: int) -> None:
        """Send one request; raises ReplyError for an answer that is a fault even under torture."""
        operation, members, effects = self.request(number)
        self.history.send(effects)
        sent_at = time.perf_counter()
        connection.send(signer.request(operation, plain(operation, members).body))
        status, body = connection.receive()
        if status == HTTPStatus.OK and not has_unprocessed(body):
            self.history.acknowledge(effects)
            self.newest_sent_at = sent_at
        elif status in {HTTPStatus.OK, HTTPStatus.INTERNAL_SERVER_ERROR, HTTPStatus.SERVICE_UNAVAILABLE}:
            self.refused += 1
            time.sleep(REFUSED_PAUSE_SECONDS)
        else:
            raise ReplyError(f"{operation}: {status} {body[:200].decode(errors='replace')}")

    def request(self, number: int) -> tuple[str, dict[str, Any], dict[str, Value]]:
        """Return operation, members, and the values that the request writes."""
        row, twin, data = f"{number:08}", f"{number:08}-twin", self.data(number)
        match number % 6:
            case 0:
                return "DeleteItem", self.place(f"{number - DELETE_BACK:08}"), {f"{number - DELETE_BACK:08}": None}
            case 1:
                values = {":d": {"S": data}}
                members = {"UpdateExpression": "SET d = :d", "ExpressionAttributeValues": values}
                return "UpdateItem", self.place(row) | members, {row: data}
            case 2:
                puts = [{"Put": {"TableName": TABLE, "Item": self.item(each, data)}} for each in (row, COUNTER)]
                return "TransactWriteItems", {"TransactItems": puts}, {row: data, COUNTER: data}
            case 4:
                requests = [{"PutRequest": {"Item": self.item(each, data)}} for each in (row, twin)]
                return "BatchWriteItem", {"RequestItems": {TABLE: requests}}, {row: data, twin: data}
            case 5:
                return "PutItem", {"TableName": TABLE, "Item": self.item(COUNTER, data)}, {COUNTER: data}
            case _:
                return "PutItem", {"TableName": TABLE, "Item": self.item(row, data)}, {row: data}

    def data(self, number: int) -> str:
        """Return the data of the items of a number; it is unique to them."""
        return f"{self.writer_name}:{number}:".ljust(self.filler_bytes, "x")

    def item(self, row: str, data: str) -> dict[str, Any]:
        """Return an item of this writer."""
        return key(self.writer_name, row) | {"d": {"S": data}}

    def place(self, row: str) -> dict[str, Any]:
        """Return the key of an item."""
        return {"TableName": TABLE, "Key": key(self.writer_name, row)}


def has_unprocessed(body: bytes) -> bool:
    """True if a batch was answered with UnprocessedItems."""
    return b'"UnprocessedItems"' in body and bool(msgspec.json.decode(body)["UnprocessedItems"])


class Team:
    """All writers, and the counts of their work on one folder."""

    def __init__(self, filler_bytes: int = FILLER_BYTES[0]) -> None:
        self.histories = {f"w{number}": History() for number in range(WRITERS)}
        self.filler_bytes = filler_bytes
        self.last = dict.fromkeys(self.histories, 0)
        self.faults: list[str] = []
        self.members: Sequence[Writer] = []

    def start(self, port: int) -> None:
        """Start all writers, each after its last number."""
        self.members = [
            Writer(port, name, history, self.last[name], self.filler_bytes) for name, history in self.histories.items()
        ]
        for writer in self.members:
            writer.start()

    def end(self) -> None:
        """Stop the writers that still run."""
        for writer in self.members:
            writer.stopping.set()
        for writer in self.members:
            writer.join()
            self.last[writer.writer_name] = writer.last
            if writer.fault:
                self.faults.append(writer.fault)

    def ends(self) -> str:
        """Return the errors of the writers that have stopped sending."""
        return (
            ", ".join(sorted({writer.end_of_connection or writer.fault for writer in self.members} - {""}))
            or "none ended"
        )

    @property
    def acknowledged(self) -> int:
        """Return the acknowledged requests of all writers."""
        return sum(history.acknowledged for history in self.histories.values())

    @property
    def refused(self) -> int:
        """Return the refused requests of the running writers."""
        return sum(writer.refused for writer in self.members)
