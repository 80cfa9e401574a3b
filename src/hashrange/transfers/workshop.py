"""What do exports, imports and bulk puts need of the service, and how do slices of a job take turns among them?"""

import logging
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing, suppress
from typing import Any, NamedTuple, Protocol

from hashrange.clock import Clock
from hashrange.errors import HashrangeError
from hashrange.faults.drawing import Drawing
from hashrange.jobs.job import AT_ONCE, ELSEWHERE
from hashrange.operations.lasting import seconds_left
from hashrange.operations.transfers.transfer_records import KeptTransfers, TransferRecord
from hashrange.s3.objects import Objects, ObjectsOf, S3Failure
from hashrange.store.interface import WholeStore
from hashrange.transfers.faulty_objects import FaultyObjects
from hashrange.transfers.flows import Flows

LOG = logging.getLogger("hashrange.transfers")
LOGGED_MAX = 100
"""Items with errors that are logged of one transfer, since the server's start."""
Steps = AsyncGenerator[float | None, None]
"""The work of one transfer. Yields after each piece of it what a slice returns (`Job.run_slice`): AT_ONCE, the seconds
of service time until there is more to do, or None until the job is woken. It may be continued earlier."""


class Workshop(NamedTuple):
    """What transfers work with."""

    store: WholeStore
    clock: Clock
    objects_of: Callable[[], ObjectsOf | None]
    """Returns the S3; None if no setting names one."""
    flows: Flows
    """Those of the job, which they wake."""
    find_drawing: Callable[[], Drawing | None]
    """Returns what draws faults now; None if there are none."""

    def objects(self, record: TransferRecord) -> Objects:
        """What a transfer sees of the S3, which must be there."""
        objects_of = self.objects_of()
        assert objects_of is not None, "a transfer without an S3"
        return FaultyObjects(objects_of(record.account), self.find_drawing, record.table_name)

    def seconds_left(self, record: TransferRecord) -> float:
        """For how long a transfer stays in progress at the least."""
        return seconds_left(record.lasting, self.clock.service_time())


class TransferFailed(HashrangeError):
    """A transfer ends as FAILED."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


def as_failed(failure: S3Failure | TransferFailed) -> TransferFailed:
    """The end of a transfer that meets this failure."""
    if isinstance(failure, TransferFailed):
        return failure
    code = "KmsNotFoundException" if failure.code.startswith("KMS.") else f"S3{failure.code}"
    return TransferFailed(code, failure.message)


class TransferWork(Protocol):
    """The work on one transfer."""

    def make(self) -> Steps:
        """Do what is left. Raises StorageError, and S3Failure and TransferFailed, with which the transfer fails."""

    async def fail(self, code: str, message: str) -> None:
        """Keep that the transfer has failed, with this FailureCode. Raises StorageError."""

    async def give_up(self) -> None:
        """End its flows."""


async def steps_of(work: TransferWork) -> Steps:
    """The steps of a transfer's work, up to its end or failure. Raises StorageError."""
    try:
        async with aclosing(work.make()) as steps:
            async for pause in steps:
                yield pause
    except (S3Failure, TransferFailed) as failure:
        failed = as_failed(failure)
        await work.fail(failed.code, failed.message)
    finally:
        await work.give_up()


NewWork = Callable[[Workshop, Any, Any], TransferWork]
"""Makes the work on a transfer of its record and progress."""
Tidy = Callable[[Workshop, list[str]], Awaitable[None]]
"""Ends what was made for transfers that are in progress no more; gets the paths of those that are. Raises
StorageError."""


async def nothing_to_tidy(_shop: Workshop, _paths: list[str]) -> None:
    """Transfers of this kind make nothing that they would leave."""


SLICES_BETWEEN_LOOKS = 64
"""Slices after which new transfers are looked for while others are worked on."""


class TransferJob:
    """The job of the transfers of one kind: each slice does a piece of the work on one of them, in turn."""

    def __init__(
        self,
        workshop: Workshop,
        kept: KeptTransfers[Any, Any],
        new_work: NewWork,
        is_in_order: Callable[[], int],
        tidy: Tidy = nothing_to_tidy,
    ) -> None:
        """`is_in_order`: see `Runner.is_in_order`."""
        self._shop = workshop
        self._is_in_order = is_in_order
        self._kept, self._new_work, self._tidy = kept, new_work, tidy
        self._order: deque[str] = deque()
        self._steps: dict[str, Steps] = {}
        """Path → the work on those that have been begun."""
        self._pauses: dict[str, float | None] = {}
        """Path → what the last piece of its work has yielded."""
        self._generation = workshop.store.documents.generation
        self._slices = 0

    async def run_slice(self) -> float | None:
        """The slice of the job. Raises StorageError; the transfer then goes on from its progress."""
        if self._shop.objects_of() is None:
            return None
        generation = self._shop.store.documents.generation
        if generation != self._generation:
            self._generation, self._slices = generation, 0
            await self.give_up()
        looks = self._slices % SLICES_BETWEEN_LOOKS == 0
        if looks:
            await self._look()
        self._slices += 1
        flows = self._shop.flows
        while True:
            changes = flows.changes
            pause = await self._work()
            if pause == AT_ONCE:
                return AT_ONCE
            if not looks:  # a transfer may have come since the last look, and nobody wakes the job for it again
                self._slices = 0
                return AT_ONCE
            is_in_order = self._is_in_order()
            if not (is_in_order and flows.wait_for_s3 and await flows.next_change(changes)):
                self._slices = 0
                return ELSEWHERE if pause is None and flows.wait_for_s3 and not is_in_order else pause

    async def give_up(self) -> None:
        """End the work on all transfers, which goes on from their progress."""
        self._order.clear()
        self._pauses.clear()
        while self._steps:
            _, steps = self._steps.popitem()
            with suppress(RuntimeError):  # a slice still runs it, which ends with the service
                await steps.aclose()
        await self._shop.flows.give_up()

    async def _look(self) -> None:
        paths = self._kept.paths_in_progress()
        await self._tidy(self._shop, paths)
        for path in paths:
            if path in self._steps:
                continue
            record, progress = self._kept.find(path)
            if record is not None and progress is not None:
                self._steps[path] = steps_of(self._new_work(self._shop, record, progress))
                self._order.append(path)

    async def _work(self) -> float | None:
        """Do the next piece of work. Returns AT_ONCE; if all transfers wait, the seconds until the first one is due, or
        None.

        A hundred transfers may begin, or get what they wait for, together, so a slice ends after a piece that may have
        done more than look: the first one of a transfer, one that has used a flow, and one after which the transfer
        waits for something else than before.
        """
        pauses: list[float] = []
        flows = self._shop.flows
        for _ in range(len(self._order)):
            path = self._order[0]
            self._order.rotate(-1)
            uses = flows.uses
            try:
                pause = await anext(self._steps[path])
            except StopAsyncIteration:
                self._forget(path)
                return AT_ONCE
            except BaseException:
                self._forget(path)
                raise
            is_first = path not in self._pauses
            before, self._pauses[path] = self._pauses.get(path), pause
            if pause == AT_ONCE or is_first or flows.uses > uses or (before is None) != (pause is None):
                return AT_ONCE
            if pause is not None:
                pauses.append(pause)
        return min(pauses, default=None)

    def _forget(self, path: str) -> None:
        del self._steps[path]
        self._pauses.pop(path, None)
        self._order.remove(path)
        self._slices = 0
