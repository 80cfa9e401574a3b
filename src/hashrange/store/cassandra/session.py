"""How are statements sent to Cassandra, and what does each error mean? A read may be repeated, a conditional write
never blindly: whether it took place is unknown unless the reply says so.

Why the driver is acsylla, and never retries by itself: docs/adr/0086-cluster.md.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import acsylla
from acsylla import Consistency
from acsylla.errors import CassException, CassExceptionInvalidQuery, CassExceptionSyntaxError

from hashrange.errors import StorageBusy, StorageError
from hashrange.messages.cluster import CLUSTER_REFUSED, CLUSTER_UNREACHABLE
from hashrange.store.cassandra import cql

ONE, QUORUM, SERIAL = Consistency.LOCAL_ONE, Consistency.QUORUM, Consistency.SERIAL
REQUEST_SECONDS = 1.2
"""After this time a request counts as lost: its node hangs."""
GIVE_UP_SECONDS = 1.7
"""A read, or the search for an outcome, is not tried again after this time: with the last attempt it takes 3 s at most.
"""
CqlStatement = tuple[str, Sequence[Any]]
"""CQL, and the values of its parameters."""
INVALID = (CassExceptionInvalidQuery, CassExceptionSyntaxError)


class OutcomeLost(Exception):
    """Whether a write took place is unknown."""


class Session:
    """A connection to the nodes of a cluster, with its statements prepared."""

    def __init__(
        self, session: acsylla.Session, prepared: Mapping[str, Any], monotonic: Callable[[], float], place: str
    ) -> None:
        self._session = session
        self._prepared = prepared
        self._monotonic = monotonic
        self.place = place
        """The address, for messages to people."""

    async def execute(self, text: str, *values: Any, level: Consistency = QUORUM) -> list[tuple[Any, ...]]:
        """Execute a statement that may be repeated, a SELECT or a plain write, again while nodes fail; returns the rows
        that it finds. Raises StorageBusy, StorageError.
        """
        statement = self._prepared[text].bind(values, consistency=level)
        until_seconds = self._monotonic() + GIVE_UP_SECONDS
        while True:
            try:
                return [row.as_tuple() for row in await self._session.execute(statement)]
            except INVALID as error:
                raise StorageError(CLUSTER_REFUSED.format(place=self.place, reason=error)) from error
            except CassException as error:
                if self._monotonic() >= until_seconds:
                    raise StorageBusy(CLUSTER_UNREACHABLE.format(place=self.place, reason=error)) from error
            await self.pause(0.02)

    async def decide(self, *statements: CqlStatement) -> bool:
        """Make a conditional write, all of its statements or none; True if it took place. Raises OutcomeLost."""
        bound = [self._bound(text, values) for text, values in statements]
        try:
            if len(bound) == 1:
                result = await self._session.execute(bound[0])
            else:
                batch = acsylla.create_batch_unlogged()
                for one in bound:
                    batch.add_statement(one)
                batch.set_consistency(QUORUM)
                batch.set_serial_consistency(SERIAL)
                result = await self._session.execute_batch(batch)
        except INVALID as error:
            raise StorageError(CLUSTER_REFUSED.format(place=self.place, reason=error)) from error
        except CassException as error:
            raise OutcomeLost(str(error)) from error
        first = result.first()
        assert first is not None, "a conditional write is answered by a row"
        return bool(first.column_value("[applied]"))

    def _bound(self, text: str, values: Sequence[Any]) -> Any:
        return self._prepared[text].bind(values, consistency=QUORUM, serial_consistency=SERIAL)

    async def pause(self, seconds: float) -> None:
        """Let time pass."""
        await asyncio.sleep(seconds)

    async def close(self) -> None:
        """End all connections."""
        await self._session.close()


async def prepared(session: acsylla.Session) -> Mapping[str, Any]:
    """All statements, prepared."""
    made = await asyncio.gather(*[session.create_prepared(text) for text in cql.STATEMENTS])
    return dict(zip(cql.STATEMENTS, made, strict=True))
