"""What does a Dockerfile say? Its stages with their instructions, and which files of the context it may copy.

It reads the forms that our Dockerfile uses, and refuses every other one: a step that was overlooked would be a step
that nobody checks (docs/adr/0051-image.md).
"""

import json
import re
import shlex
from fnmatch import fnmatch
from pathlib import PurePosixPath
from typing import NamedTuple

KEYWORDS = frozenset({
    "CMD", "COPY", "ENTRYPOINT", "ENV", "EXPOSE", "HEALTHCHECK", "RUN", "STOPSIGNAL", "USER", "VOLUME", "WORKDIR",
})  # fmt: skip
_from = re.compile(r"FROM (\S+)(?: AS (\S+))?")
_flag = re.compile(r"--[a-z-]+=\S+ +")


class Instruction(NamedTuple):
    """One instruction; `text` is what follows its keyword, in one line."""

    keyword: str
    text: str

    @property
    def words(self) -> list[str]:
        """The words of a list in JSON, or of a line of shell words."""
        if self.text.startswith("["):
            words: list[str] = json.loads(self.text)
            return words
        return shlex.split(self.text)

    @property
    def without_flags(self) -> "Instruction":
        """The instruction without the `--flag=value` that it begins with."""
        text = self.text
        while flag := _flag.match(text):
            text = text[flag.end() :]
        return Instruction(self.keyword, text)


class Stage(NamedTuple):
    """The instructions from one FROM to the next."""

    base: str
    """Name of an image, or of an earlier stage."""
    name: str
    instructions: list[Instruction]


class Image(NamedTuple):
    """How the last stage is started."""

    environment: dict[str, str]
    user: str
    folder: str
    volumes: list[str]
    entry_point: list[str]
    command: list[str]
    """The arguments of the entry point, unless others are given."""
    health_command: list[str]


def read_dockerfile(text: str) -> list[Stage]:
    """The stages in order; raises ValueError for what it does not know."""
    stages: list[Stage] = []
    for line in _joined_lines(text):
        keyword, _, rest = line.partition(" ")
        if begin := _from.fullmatch(line):
            stages.append(Stage(begin[1], begin[2] or f"stage-{len(stages)}", []))
        elif keyword in KEYWORDS and stages:
            stages[-1].instructions.append(Instruction(keyword, rest.strip()))
        else:
            raise ValueError(f"{line!r} is no line of a Dockerfile that can be run here")
    return stages


def _joined_lines(text: str) -> list[str]:
    kept = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
    lines = re.sub(r"\\\n\s*", "", kept).splitlines()
    return [line.strip() for line in lines if line.strip()]


def read_image(stages: list[Stage]) -> Image:
    """What the last stage, and the stages that it is made from, say about how it is started."""
    by_name = {stage.name: stage for stage in stages}
    chain = [stages[-1]]
    while chain[0].base in by_name:
        chain.insert(0, by_name[chain[0].base])
    said: dict[str, Instruction] = {}
    environment: dict[str, str] = {}
    volumes: list[str] = []
    for stage in chain:
        for instruction in stage.instructions:
            said[instruction.keyword] = instruction
            if instruction.keyword == "ENV":
                environment |= dict(word.split("=", 1) for word in instruction.words)
            elif instruction.keyword == "VOLUME":
                volumes += instruction.words
    health = Instruction("CMD", said["HEALTHCHECK"].without_flags.text.removeprefix("CMD ").strip())
    return Image(
        environment,
        said["USER"].text,
        said["WORKDIR"].text,
        volumes,
        said["ENTRYPOINT"].words,
        said["CMD"].words,
        health.words,
    )


def is_in_context(name: str, ignored: str) -> bool:
    """True if a file of the context reaches the engine; `ignored` is the text of .dockerignore,
    whose last match counts.
    """
    path = PurePosixPath(name)
    above = [path.as_posix(), *(parent.as_posix() for parent in path.parents if parent.name)]
    is_kept = True
    for line in ignored.split():
        pattern = line.removeprefix("!").removesuffix("/")
        patterns = [pattern, pattern.removeprefix("**/")] if pattern.startswith("**/") else [pattern]
        candidates = [*above, path.name] if pattern.startswith("**/") else above
        if any(fnmatch(one, each) and one.count("/") >= each.count("/") for one in candidates for each in patterns):
            is_kept = line.startswith("!")
    return is_kept
