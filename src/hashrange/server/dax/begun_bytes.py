"""How much memory do requests to DAX's nodes take that are not complete, and whose connection goes when
it is too much?
"""

from bisect import bisect_left, insort
from collections.abc import Iterator
from itertools import count
from typing import NamedTuple, Protocol

from hashrange.long_reads import LongReads

HELD_BYTES_MIN = 1024
"""What a request that is not complete counts at least. One read brings up to 256 KB, so it ends at most some 256
connections, which takes 2 ms, however little each of them holds."""


class BegunConnection(Protocol):
    """A connection whose request is not complete. It is hashed by its identity."""

    @property
    def account(self) -> str:
        """The client's account; empty if it has not been authorized."""

    def abort(self) -> None:
        """End the connection at once. It holds nothing then: it calls `BegunBytes.count` with 0."""


class _Held(NamedTuple):
    """What a connection holds. Of those that are equally large, the first one is the largest."""

    size_bytes: int
    number: int
    """Differs from all others', and is lower than those before."""
    account: str
    connection: BegunConnection


class BegunBytes:
    """Memory of requests that are not complete, of many connections together.

    Above the limit, who holds most of it goes: of the account that holds most, the connection that does. Both are the
    last of a sorted list, so that finding them among tens of thousands takes as long as among a few.
    """

    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self.size_bytes = 0
        self._held: dict[BegunConnection, _Held] = {}
        self._of_accounts: dict[str, list[_Held]] = {}
        """What the connections of each account hold, the largest last."""
        self._sizes_bytes: dict[str, int] = {}
        """What each account holds."""
        self._accounts: list[tuple[int, str]] = []
        """The same with its account, the largest last."""
        self._numbers: Iterator[int] = count(0, -1)

    def count(self, connection: BegunConnection, size_bytes: int) -> None:
        """The connection holds so much now, and counts as `HELD_BYTES_MIN` at least unless it is 0.
        May end connections, also this one.
        """
        former = self._held.pop(connection, None)
        if former is not None:
            self._remove(former)
        if size_bytes:
            account = connection.account
            held = _Held(max(size_bytes, HELD_BYTES_MIN), next(self._numbers), account, connection)
            self._held[connection] = held
            insort(self._of_accounts.setdefault(account, []), held)
            self._add(account, held.size_bytes)
            while self.size_bytes > self.limit_bytes:
                self._of_accounts[self._accounts[-1][1]][-1].connection.abort()

    def _remove(self, held: _Held) -> None:
        of_account = self._of_accounts[held.account]
        del of_account[bisect_left(of_account, held)]
        if not of_account:
            del self._of_accounts[held.account]
        self._add(held.account, -held.size_bytes)

    def _add(self, account: str, more_bytes: int) -> None:
        """The account holds more, or less."""
        self.size_bytes += more_bytes
        before_bytes = self._sizes_bytes.pop(account, 0)
        if before_bytes:
            del self._accounts[bisect_left(self._accounts, (before_bytes, account))]
        after_bytes = before_bytes + more_bytes
        if after_bytes:
            self._sizes_bytes[account] = after_bytes
            insort(self._accounts, (after_bytes, account))


class BegunRequests(NamedTuple):
    """What limits requests that are not complete, of all connections of a server."""

    strangers: BegunBytes
    """Of clients that have not said who they are."""
    known: BegunBytes
    long_reads: LongReads
    """What limits how much is read in one turn; shared with the clients of HTTP."""
