"""How does a command go on after it was interrupted? It keeps how far it is in a file beside the one that it writes or
reads, and removes that file when it is done.

The file is replaced as a whole, so a kill leaves the one before or the next one. It names the command's wish, and
another command line does not go on with it.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

import msgspec

from hashrange.toolkit.failures import UsageFault
from hashrange.toolkit.moving.output_file import worded

VERSION = 1
State = TypeVar("State")
_MISSING = object()


class _Kept(msgspec.Struct):
    version: int
    wish: dict[str, Any]
    state: msgspec.Raw


class ProgressFile(Generic[State]):
    """The file of one command line. State: a struct of msgspec that says how far the command is."""

    def __init__(self, path: str, wish: Mapping[str, Any], state_type: type[State]) -> None:
        """`wish`: option → value, of those that must be the same when the command goes on."""
        self.path, self._wish, self._type = path, dict(wish), state_type

    @property
    def is_there(self) -> bool:
        """True if a command was interrupted that can go on."""
        return os.path.exists(self.path)

    def read(self) -> State | None:
        """How far the command is; None: there is no file. Raises UsageFault, for a file of another command line too."""
        try:
            with open(self.path, "rb") as opened:
                content = opened.read()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise UsageFault(f"{self.path} cannot be read: {error.strerror}.") from None
        try:
            kept = msgspec.json.decode(content, type=_Kept)
            if kept.version != VERSION:
                raise UsageFault(f"{self.path} is of another version of hashrange. Remove it, and begin again.")
            self._require_same(kept.wish)
            return msgspec.json.decode(kept.state, type=self._type)
        except msgspec.DecodeError:
            raise UsageFault(f"{self.path} is no file of an interrupted command. Remove it, and begin again.") from None

    def _require_same(self, wish: Mapping[str, Any]) -> None:
        now = msgspec.json.decode(msgspec.json.encode(self._wish))
        for name in {**wish, **now}:
            before, given = wish.get(name, _MISSING), now.get(name, _MISSING)
            if before != given:
                raise UsageFault(
                    f"--resume goes on with what was begun with {_told(name, before)}, and now it is"
                    f" {_told(name, given)}. Say the same again, or remove {self.path} and begin again."
                )

    @contextmanager
    def removed_unless(self, has_begun: Callable[[], bool]) -> Iterator[None]:
        """Remove the file if what is done fails before it has begun, because there is nothing to go on with."""
        try:
            yield
        except BaseException:
            if not has_begun():
                self.remove()
            raise

    def begin(self, state: State) -> None:
        """Keep that the command has begun. Raises UsageFault."""
        try:
            self._write(state)
        except OSError as error:
            raise UsageFault(f"{self.path} cannot be written: {error.strerror}. Name a file elsewhere.") from None

    def write(self, state: State) -> None:
        """Keep how far the command is. Raises ToolkitFailure."""
        with worded(self.path):
            self._write(state)

    def _write(self, state: State) -> None:
        content = msgspec.json.encode(_Kept(VERSION, self._wish, msgspec.Raw(msgspec.json.encode(state))))
        new = f"{self.path}.new"
        with open(new, "wb") as opened:
            opened.write(content)
        os.replace(new, self.path)

    def remove(self) -> None:
        """Forget how far the command is: it is done, or begins again."""
        for path in (self.path, f"{self.path}.new"):
            if os.path.exists(path):
                os.remove(path)


def _told(name: str, value: object) -> str:
    if value is _MISSING or value is None or value is False:
        return f"no {name}"
    return name if value is True else f"{name} {value}"
