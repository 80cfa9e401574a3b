"""An engine that fails on request."""

from typing import Any


class FaultyEngine:
    """`engine`, except that a method in `faults` first raises its listed errors one by one, the last one repeatedly."""

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
