"""How does a test read a global index right after a write?
It calls `propagated`, because entries of global indexes are written later.

For the embedded store without a delay it does nothing, so that a late entry fails the test.
"""

from collections.abc import Callable

from tests.support.raw_client import RawClient

PROPAGATE: dict[int, Callable[[], None]] = {}
"""Port of a server of this suite → function that writes all pending entries of its global indexes."""


def propagated(raw: RawClient) -> None:
    """Return once everything written so far is in the global indexes of this client's server.

    Another server (`--endpoint`) is assumed to have no delay.
    """
    if raw.port in PROPAGATE:
        PROPAGATE[raw.port]()
