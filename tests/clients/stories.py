"""Runs the steps of story.json against a shop, and compares each result with the expected one."""

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

HERE = Path(__file__).parent
STEPS: list[dict[str, Any]] = json.loads((HERE / "story.json").read_text(encoding="utf-8"))["steps"]


class Shop(Protocol):
    """An application with one method for each call of the story."""

    def end(self) -> None:
        """Close the connections."""


def tell(shop: Shop, restart: Callable[[], None]) -> None:
    """Run every step in order; the shop is ended in any case."""
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
    """A shop in another language: a program that reads one call per line and answers each with one line, both JSON."""

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
        """A method for the call of that name; the programs' methods are in camel case."""

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
        """Send no more calls and wait until the program ends by itself."""
        if self.process.poll() is None:
            _, errors = self.process.communicate(timeout=30)
            assert (self.process.returncode, errors) == (0, "")


def camel(name: str) -> str:
    """`place_order` → `placeOrder`."""
    return re.sub(r"_(.)", lambda found: found[1].upper(), name)
