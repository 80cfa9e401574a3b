"""How do operations handle a store's errors? For tests: a wrapper of a store whose calls fail by a seed,
or on request, before they do anything.

Failures in the middle of a call are tested with engines that fail, below the store's interface.
"""

import random
from collections import Counter
from collections.abc import Callable, Coroutine
from typing import Any, Literal, ParamSpec

from hashrange.errors import HashrangeError, StorageBusy
from hashrange.soon import settled
from hashrange.store.interface import WholeStore
from tests.support.wrapped_stores.wrapped import WrappedStore

StoreMethod = Literal["get", "page", "search_vectors", "mutate", "transact", "snapshot_get"]

P = ParamSpec("P")


class FaultyStore(WrappedStore):
    """A wrapper of a store; calls that read and write rows may fail."""

    def __init__(self, inner: WholeStore, seed: int = 0, busy_probability: float = 0.0) -> None:
        """`busy_probability`: share of calls, drawn from `seed`, that raise StorageBusy."""
        super().__init__(inner)
        self._chance = random.Random(seed).random
        self._busy_probability = busy_probability
        self._faults: dict[str, tuple[int, HashrangeError]] = {}
        self.calls: Counter[str] = Counter()
        """Method name → number of calls, those that failed included."""
        self.faults = 0
        """Number of calls that failed."""
        self.catalog = inner.catalog
        self.get, self.page = self._may_fail("get", inner.get), self._may_fail("page", inner.page)
        self.search_vectors = self._may_fail("search_vectors", inner.search_vectors)  # type: ignore[method-assign]
        self.mutate = self._may_fail("mutate", inner.mutate)
        self.transact = self._may_fail("transact", inner.transact)
        self.snapshot_get = self._may_fail("snapshot_get", inner.snapshot_get)

    def fail(self, method: StoreMethod, error: HashrangeError, *, after_calls: int = 0) -> None:
        """Make each call of the method raise `error`, except the first `after_calls` since the wrapper was made."""
        self._faults[method] = (after_calls, error)

    def mend(self) -> None:
        """Let all further calls succeed."""
        self._faults.clear()
        self._busy_probability = 0.0

    def _may_fail(self, name: StoreMethod, method: Callable[P, Any]) -> Callable[P, Coroutine[Any, Any, Any]]:
        async def call(*arguments: P.args, **options: P.kwargs) -> Any:
            self.calls[name] += 1
            after_calls, error = self._faults.get(name, (0, None))
            if error is None and self._chance() < self._busy_probability:
                error = StorageBusy("This call was to find the store busy.")
            if error is not None and self.calls[name] > after_calls:
                self.faults += 1
                raise error
            return await settled(method(*arguments, **options))

        return call
