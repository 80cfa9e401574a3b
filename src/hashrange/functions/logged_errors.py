"""Which errors of a function has the log told with their traces? Those since its last success,
so that a retry with the same error adds one line.

Errors are the same if type and trace are; the line has the message.
"""

ERRORS_MAX = 16
"""Errors of one function that are known at the same time. Beyond, all of them are forgotten,
and told with their traces again."""
FUNCTIONS_MAX = 1000


class LoggedErrors:
    """The errors of one function that have been logged since it last succeeded."""

    def __init__(self) -> None:
        self._digests: set[bytes] = set()

    def note(self, digest: bytes) -> bool:
        """True if an error with this digest has not been logged yet; it counts as logged from now on."""
        if digest in self._digests:
            return False
        if len(self._digests) >= ERRORS_MAX:
            self._digests.clear()
        self._digests.add(digest)
        return True

    def forget(self) -> None:
        """The function has succeeded, or its code has changed."""
        self._digests.clear()


class ErrorsOfFunctions:
    """The logged errors of all functions of a server, also of those whose handlers cannot be loaded."""

    def __init__(self) -> None:
        self._errors: dict[str, LoggedErrors] = {}
        """In the order of their first use."""

    def of(self, run_id: str) -> LoggedErrors:
        """Those of one version of a function, by the id that all of its environments have."""
        errors = self._errors.get(run_id)
        if errors is None:
            if len(self._errors) >= FUNCTIONS_MAX:
                del self._errors[next(iter(self._errors))]
            errors = self._errors[run_id] = LoggedErrors()
        return errors
