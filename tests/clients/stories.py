"""Tells the story of story.json to a shop, and holds each answer against what the story says."""

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

HERE = Path(__file__).parent
STEPS: list[dict[str, Any]] = json.loads((HERE / "story.json").read_text(encoding="utf-8"))["steps"]


class Shop(Protocol):
    """An application with a method for each call of the story."""

    def end(self) -> None:
        """Give back connections."""


def tell(shop: Shop, restart: Callable[[], None]) -> None:
    """Every step in its order; the shop is ended, whatever happens."""
    try:
        for number, step in enumerate(STEPS, 1):
            if "restart" in step:
                restart()
                continue
            given = getattr(shop, step["call"])(**step.get("with", {}))
            assert given == step["gives"], f"step {number}, {step['call']}: {given} instead of {step['gives']}"
    finally:
        shop.end()


class ProgramShop:
    """A shop in another language: a program that reads a call per line and answers each with a line, both JSON."""

    def __init__(self, command: list[str], folder: Path) -> None:
        self.process = subprocess.Popen(
            command,
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )

    def __getattr__(self, call: str) -> Any:
        """The call of that name; the programs' methods are in camel case."""

        def answer(**arguments: Any) -> Any:
            assert self.process.stdin is not None
            assert self.process.stdout is not None
            self.process.stdin.write(json.dumps({"call": camel(call), "with": arguments}) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
            assert line, f"{call} ended the program: {self.process.communicate()[1]}"
            return json.loads(line)

        return answer

    def end(self) -> None:
        """No more calls: the program ends by itself."""
        if self.process.poll() is None:
            _, errors = self.process.communicate(timeout=30)
            assert (self.process.returncode, errors) == (0, "")


def camel(name: str) -> str:
    """`place_order` → `placeOrder`."""
    return re.sub(r"_(.)", lambda found: found[1].upper(), name)
