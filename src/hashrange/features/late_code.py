"""How is code loaded that few requests need? When a request first needs it:
on a thread, while that request waits and all others go on.

Start time counts, so a server does not load what most are never asked for.
Loading takes 0.1 to 0.3 s, which held up all clients. While a thread loads, threads switch ten times as often as usual,
so that the event loop waits for it for half a millisecond at a time instead of five. In another program's process,
and wherever there is no event loop, code is loaded at once.
"""

import asyncio
from collections.abc import Callable
from importlib import import_module

from hashrange.errors import HashrangeError
from hashrange.work_threads import brief_turns

_is_ours = False


class StillLoading(HashrangeError):
    """Raised for a request whose code is being loaded: the request has to be handled again then."""

    def __init__(self, ended: "asyncio.Future[None]") -> None:
        super().__init__("the code is being loaded")
        self.ended = ended
        """Done once the code is loaded, or could not be loaded."""

    def then(self, go_on: Callable[[], None]) -> None:
        """Call `go_on` once the code is loaded, or could not be loaded, in a turn of the loop."""
        self.ended.add_done_callback(lambda _: go_on())


def load_on_threads(*, is_ours: bool) -> None:
    """From now on, load on threads; `is_ours` False: at once, as before. For a server's own process."""
    global _is_ours
    _is_ours = is_ours


class LateCode:
    """Modules that are loaded together."""

    def __init__(self, *modules: str) -> None:
        self._modules = modules
        self._is_loaded = False
        self._loading: asyncio.Future[None] | None = None

    def load(self) -> None:
        """Return once all modules are loaded. Raises StillLoading while a thread loads them,
        and whatever their import raises.
        """
        if self._is_loaded:
            return
        loading = self._loading
        if loading is None:
            if not _is_ours:
                self._import()
                return
            loading = self._loading = asyncio.ensure_future(asyncio.to_thread(brief_turns()(self._import)))
        if not loading.done():
            raise StillLoading(loading)
        self._loading = None
        loading.result()

    async def be_loaded(self) -> None:
        """Return once all modules are loaded. Raises whatever their import raises."""
        try:
            self.load()
        except StillLoading as loading:
            await asyncio.wait((loading.ended,))
            self.load()

    def _import(self) -> None:
        for module in self._modules:
            import_module(module)
        self._is_loaded = True
