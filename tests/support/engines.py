"""An engine that fails on request, and one that takes the place of another."""

from typing import Any

from hashrange.store.embedded import EmbeddedStore


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


def replace_engine(store: EmbeddedStore, engine: Any) -> Any:
    """Let a store go on with another open engine and its content; returns the former one, after syncing its commits."""
    former = store.site.let_engine_go()
    store.take_engine(engine, store.read(engine))
    return former
