"""How often is the memory of an environment looked at? After its first invocation, and then no more than once in a while: a look takes 0.1 ms."""

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hashrange.functions import environment as environments
from hashrange.functions.environment import ExecutionEnvironment
from tests.unit.functions.world import World


class Looks:
    """Counts looks at the memory, at a time that the test moves."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now_seconds = 0.0
        self.count = 0
        self.used_bytes = 0
        monkeypatch.setattr(environments, "memory_used_bytes", self.look)
        monkeypatch.setattr(environments, "real_seconds", lambda: self.now_seconds)

    def look(self, _pid: int, _most_bytes: int) -> int:
        self.count += 1
        return self.used_bytes


def test_quick_invocations_share_a_look(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        looks = Looks(monkeypatch)
        listener: Any = SimpleNamespace(mark="mark")
        environment = ExecutionEnvironment(World(tmp_path).runnable(), listener, "stream")
        process: Any = SimpleNamespace(pid=1, exited=asyncio.get_running_loop().create_future())
        environment._process = process
        looks.used_bytes = 5
        environment.see_memory()
        assert (looks.count, environment.memory_used_bytes) == (1, 5)
        looks.used_bytes = 9
        for _ in range(10):
            environment.see_memory()
        assert looks.count == 1
        looks.now_seconds += environments._MEMORY_LOOK_SECONDS
        environment.see_memory()
        assert (looks.count, environment.memory_used_bytes) == (2, 9)
        process.exited.set_result(None)
        looks.now_seconds += environments._MEMORY_LOOK_SECONDS
        environment.see_memory()
        assert looks.count == 2

    asyncio.run(scenario())
