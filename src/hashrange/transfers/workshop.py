"""What do exports, imports and bulk puts need of the service, and how do slices of a job take turns among them?"""

import logging
from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from typing import NamedTuple, Protocol

from hashrange.clock import Clock
from hashrange.errors import HashrangeError
from hashrange.jobs.job import AT_ONCE
from hashrange.s3.objects import Objects, ObjectsOf, S3Failure
from hashrange.store.interface import WholeStore
from hashrange.transfers.flows import Flows

LOG = logging.getLogger("hashrange.transfers")
Steps = AsyncGenerator[bool, None]
"""The work of one transfer. Yields after each piece of it: True if there is more at once, False if it waits until the
job is woken."""


class Workshop(NamedTuple):
    """What transfers work with."""

    store: WholeStore
    clock: Clock
    objects_of: Callable[[], ObjectsOf | None]
    """Returns the S3; None if no setting names one."""
    flows: Flows
    """Those of the job, which they wake."""

    def objects(self, account: str) -> Objects:
        """What an account sees of the S3, which must be there."""
        objects_of = self.objects_of()
        assert objects_of is not None, "a transfer without an S3"
        return objects_of(account)


class TransferFailed(HashrangeError):
    """A transfer ends as FAILED."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


def failure_code(failure: S3Failure) -> str:
    """The FailureCode of a transfer that S3 has refused."""
    if failure.code.startswith("KMS."):
        return "KmsNotFoundException"
    return f"S3{failure.code}"


class InProgress(Protocol):
    """The transfers of one kind that are in progress. Each has a path, as its documents have."""

    async def look(self) -> list[str]:
        """The paths of those there are now. Raises StorageError."""

    def work_on(self, path: str) -> Steps | None:
        """The work that is left of one; None if there is none. Raises StorageError."""


SLICES_BETWEEN_LOOKS = 64
"""Slices after which new transfers are looked for while others are worked on."""


class TransferJob:
    """The job of the transfers of one kind: each slice does a piece of the work on one of them, in turn."""

    def __init__(self, workshop: Workshop, transfers: InProgress) -> None:
        self._shop = workshop
        self._transfers = transfers
        self._order: deque[str] = deque()
        self._steps: dict[str, Steps] = {}
        """Path → the work on those that have been begun."""
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
        if self._slices % SLICES_BETWEEN_LOOKS == 0:
            await self._look()
        self._slices += 1
        if await self._work():
            return AT_ONCE
        self._slices = 0
        return None

    async def give_up(self) -> None:
        """End the work on all transfers, which goes on from their progress."""
        self._order.clear()
        while self._steps:
            _, steps = self._steps.popitem()
            with suppress(RuntimeError):  # a slice still runs it, which ends with the service
                await steps.aclose()
        await self._shop.flows.give_up()

    async def _look(self) -> None:
        for path in await self._transfers.look():
            if path not in self._steps and (steps := self._transfers.work_on(path)) is not None:
                self._steps[path] = steps
                self._order.append(path)

    async def _work(self) -> bool:
        """Do the next piece of work; False if all transfers wait."""
        for _ in range(len(self._order)):
            path = self._order[0]
            self._order.rotate(-1)
            try:
                has_more = await anext(self._steps[path])
            except StopAsyncIteration:
                self._forget(path)
                return True
            except BaseException:
                self._forget(path)
                raise
            if has_more:
                return True
        return False

    def _forget(self, path: str) -> None:
        del self._steps[path]
        self._order.remove(path)
        self._slices = 0
