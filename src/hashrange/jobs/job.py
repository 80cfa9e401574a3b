"""What is a job? Something that happens without a request, in small slices between requests.

A slice holds the event loop for a few milliseconds at most. It says itself when the next one is due, so a job can be driven
by a runner, or by hand in a test.
"""

from typing import Protocol

AT_ONCE = 0.0
"""There is more to do."""


class Job(Protocol):
    """One kind of work. It never depends on having been run: whatever it did not finish it finds again."""

    @property
    def name(self) -> str:
        """For the log."""
        ...

    @property
    def waits_for_service_time(self) -> bool:
        """True if the seconds that `run_slice` returns are of service time, which may be virtual; else of real time."""
        ...

    async def run_slice(self) -> float | None:
        """Do the next slice; returns AT_ONCE, the seconds after which to run again, or None: not before being woken.

        Raises StorageError when the store fails.
        """
        ...
