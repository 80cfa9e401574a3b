"""An engine that fails when a test says so."""

from typing import Any


class FaultyEngine:
    """Everything of `engine`, but a method named in `faults` raises its next error first (the last one for ever)."""

    def __init__(self, engine: Any) -> None:
        self._engine = engine
        self.faults: dict[str, list[Exception]] = {}
        self.calls: list[str] = []

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._engine, name)

        def call(*arguments: Any, **options: Any) -> Any:
            self.calls.append(name)
            waiting = self.faults.get(name)
            if waiting:
                raise waiting.pop(0)
            return method(*arguments, **options)

        return call
