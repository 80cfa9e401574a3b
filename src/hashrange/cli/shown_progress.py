"""How is shown what requests of a template or a design do? A line for each, and in a terminal what is waited for."""

import sys
from typing import TYPE_CHECKING

from hashrange.cli.folding import columns_of
from hashrange.cli.output import complain, show_progress

if TYPE_CHECKING:
    from hashrange.templates.requests import TemplateRequest


class ShownProgress:
    """Prints what is being done; in a terminal, also what is waited for."""

    def __init__(self) -> None:
        self._columns = 0
        """Columns of the line with what is waited for; 0: there is none."""

    def begin(self, request: "TemplateRequest") -> None:
        """Print a line for a request."""
        self.clear()
        complain(f"{request.resource}: {request.told} ({request.operation})")

    def wait(self, request: "TemplateRequest", states: list[str]) -> None:
        """Show the states in a line that the next one overwrites."""
        columns = columns_of(sys.stderr)
        if columns is not None:
            self._columns = columns - 1
            text = f"  {', '.join(states)} …"
            shown = text if len(text) <= self._columns else f"{text[: self._columns - 1]}…"
            show_progress(shown.ljust(self._columns))

    def clear(self) -> None:
        """Take away the line with what is waited for."""
        if self._columns:
            show_progress(" " * self._columns)
            self._columns = 0
