"""Which addresses has a host? Its name is looked up on a thread of its own,
so that a name whose name server is slow holds up neither other names nor the end of the process.

The event loop's own look-ups share few threads with other work (uvloop's four), and the process waits for them when it
ends. A look-up that has begun cannot be given up: it takes as long as the machine's resolver does, which may be
minutes. Answers are not kept, because the resolver knows how long each is right.
"""

import asyncio
import socket
from concurrent.futures import Future
from threading import Lock, Thread

from hashrange.clock import real_seconds

LOOKUPS_MAX = 64
"""Names that are looked up at the same time; further ones wait. A thread that waits for its name server takes some
100 KB."""
STRANGERS_MAX = 48
"""While this many are looked up, only names that were found quickly before begin: however many slow names clients use,
those that this server uses every day have places left."""
QUICK_SECONDS = 1.0
FOUND_MAX = 1_000
"""Names that are remembered because they were found quickly: the latest ones."""
SECONDS_MAX = 30.0
"""Longest time that anybody waits for a name, as for one whose name server does not answer."""
TRY_LATER = "Temporary failure in name resolution"
"""How the resolver words that there was no answer, and whether there is such a name is not known."""

_Wanted = tuple[str, socket.AddressFamily]
_Outcome = list[str] | Exception


class HostLookups:
    """The look-ups of all event loops of a process."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._begun: dict[_Wanted, Future[_Outcome | None]] = {}
        """What is being looked up, each on its thread."""
        self._place: Future[_Outcome | None] = _begun_future()
        """Done, with None, when the next look-up ends."""
        self._found: dict[_Wanted, None] = {}
        """What was found quickly, the latest last."""

    async def addresses_of(self, host: str, family: socket.AddressFamily = socket.AF_UNSPEC) -> list[str]:
        """The addresses of a name, in the order in which they are to be tried; those who want the same share a look-up.
        An address is its own. May be cancelled at any time; must run in a task.

        Raises OSError if there is no such name, as the resolver words it, or no answer in time, and UnicodeError for a
        text that can be no name.
        """
        if _is_address(host):
            return [host]
        try:
            async with asyncio.timeout(SECONDS_MAX):
                outcome = None
                while outcome is None:
                    outcome = await asyncio.wrap_future(self._begin((host, family)))
        except TimeoutError:
            raise socket.gaierror(socket.EAI_AGAIN, TRY_LATER) from None
        if isinstance(outcome, Exception):
            raise type(outcome)(*outcome.args)  # each caller's own: an error leads to the frames that it passed
        return outcome

    def _begin(self, wanted: _Wanted) -> "Future[_Outcome | None]":
        """The outcome of a look-up, which is begun if there is a place; else a result of None once to try again."""
        with self._lock:
            if wanted in self._begun:
                return self._begun[wanted]
            if len(self._begun) >= (LOOKUPS_MAX if wanted in self._found else STRANGERS_MAX):
                return self._place
            begun = _begun_future()
            try:
                Thread(target=self._look_up, args=(wanted, begun), name="hashrange-host-name", daemon=True).start()
            except RuntimeError as error:  # the machine has no more threads
                raise socket.gaierror(socket.EAI_AGAIN, str(error)) from None
            self._begun[wanted] = begun
            return begun

    def _look_up(self, wanted: _Wanted, begun: "Future[_Outcome | None]") -> None:
        """What a thread does."""
        host, family = wanted
        outcome: _Outcome
        began_seconds = real_seconds()
        try:
            found = socket.getaddrinfo(host, None, family, socket.SOCK_STREAM)
            outcome = [str(address[0]) for *_, address in found]
        except Exception as error:  # noqa: BLE001 - raised to those who wait
            outcome = error.with_traceback(None)
        is_quick = isinstance(outcome, list) and real_seconds() - began_seconds < QUICK_SECONDS
        with self._lock:
            del self._begun[wanted]
            self._found.pop(wanted, None)
            if is_quick:
                self._found[wanted] = None
                if len(self._found) > FOUND_MAX:
                    del self._found[next(iter(self._found))]
            place, self._place = self._place, _begun_future()
        begun.set_result(outcome)
        place.set_result(None)


def _begun_future() -> "Future[_Outcome | None]":
    """A future that nobody who waits for it can cancel."""
    future: Future[_Outcome | None] = Future()
    future.set_running_or_notify_cancel()
    return future


def _is_address(host: str) -> bool:
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            socket.inet_pton(family, host.partition("%")[0])
        except OSError:
            continue
        return True
    return False


HOSTS = HostLookups()
