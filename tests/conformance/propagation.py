"""How does a test read a global index right after a write? Through `propagated`, for a write comes there later.

The embedded store without a delay needs nothing: there this does nothing at all, so an entry that came late would be found out.
"""

from collections.abc import Callable

from tests.support.raw_client import RawClient

PROPAGATE: dict[int, Callable[[], None]] = {}
"""Port of a server of ours → what lets all its writes come into its global indexes."""


def propagated(raw: RawClient) -> None:
    """Return once everything written so far is in the global indexes of this client's server.

    A server that is not ours (`--endpoint`) is taken at its word that it has no delay.
    """
    if raw.port in PROPAGATE:
        PROPAGATE[raw.port]()
