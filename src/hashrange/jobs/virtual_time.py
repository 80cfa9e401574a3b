"""How is service time moved? The clock is moved, and whoever moved it hears when the jobs have done all that this made due.

Time jumps: work that was due in between is done at the new time, in the order in which the jobs do it. Nothing here
sleeps or looks again and again. Like the jobs, both functions run on the server's event loop.
"""

from hashrange.clock import MovableClock, VirtualClock
from hashrange.jobs.runner import Runner


async def advance(clock: VirtualClock | MovableClock, jobs: Runner, seconds: float) -> None:
    """Move service time; returns when all is done that is due by then, and all that this made due.

    Raises what a job failed with (StorageError, or an error of ours) after all the others have come to rest.
    """
    clock.advance(seconds)
    await jobs.until_at_rest()


async def advance_all(clock: VirtualClock, jobs: Runner, seconds: float) -> None:
    """Move service time, wall time and monotonic time; returns and raises as `advance` does."""
    clock.advance_all(seconds)
    await jobs.until_at_rest()
