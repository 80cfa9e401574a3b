"""Which targets have triggers, and what are the figures called that they are about?"""

from typing import Literal, NamedTuple

Kind = Literal["memory", "disk"]
Language = Literal["Python", "Node"]
KINDS: tuple[Kind, ...] = ("memory", "disk")
LANGUAGES: tuple[Language, ...] = ("Python", "Node")
MAPPINGS = 50
BATCH_RECORDS = 100
FILES_MANY = 1_000
"""Files in the larger of two folders of code that are changed."""


class Target(NamedTuple):
    """A figure that must not be above `bound`, or below it."""

    title: str
    bound: float
    unit: str
    figure: str
    """Name of a KitFigure."""
    is_least: bool = False
    """True if the figure must not be below `bound`."""


def delay_name(kind: Kind, language: Language) -> str:
    """Name of the figure of the time from an acknowledged write to its handler: medians of turns."""
    return f"delay {kind} {language}"


def rate_name(kind: Kind, language: Language) -> str:
    """Name of the figure of records a second through one mapping."""
    return f"rate {kind} {language}"


def cost_name(kind: Kind, language: Language) -> str:
    """Name of the figure of the server's CPU for each of these records."""
    return f"cost {kind} {language}"


def cold_name(language: Language) -> str:
    """Name of the figure of an invocation for which an environment starts."""
    return f"cold {language}"


def reload_name(files: int) -> str:
    """Name of the figure of an invocation after code in a folder of this many files has changed."""
    return f"reload {files}"


def alone_name(kind: Kind) -> str:
    """Name of the figure of GetItem's p99 alone."""
    return f"alone {kind}"


def beside_name(kind: Kind) -> str:
    """Name of the figure of GetItem's p99 beside a busy mapping."""
    return f"beside {kind}"


def ratio_name(kind: Kind) -> str:
    """Name of the figure of the one divided by the other, of the same turn."""
    return f"ratio {kind}"


def idle_name(kind: Kind) -> str:
    """Name of the figure of the CPU of mappings that have nothing to deliver."""
    return f"idle {kind}"


def empty_name(kind: Kind) -> str:
    """Name of the figure of the CPU of the server before it had mappings."""
    return f"empty {kind}"


TARGETS = (
    *[
        Target(f"from write to handler, p50, {kind}, {language}", 20, "ms", delay_name(kind, language))
        for kind in KINDS
        for language in LANGUAGES
    ],
    Target("cold start of a Python function", 150, "ms", cold_name("Python")),
    Target("new code in a folder of one file", 300, "ms", reload_name(1)),
    Target(f"new code in a folder of {FILES_MANY:,} files", 300, "ms", reload_name(FILES_MANY)),
    *[
        Target(
            f"records through one mapping, {kind}, {language}",
            20_000,
            "a second",
            rate_name(kind, language),
            is_least=True,
        )
        for kind in KINDS
        for language in LANGUAGES
    ],
    *[Target(f"CPU of {MAPPINGS} idle mappings, {kind}", 1, "% of a core", idle_name(kind)) for kind in KINDS],
    *[
        Target(f"GetItem p99 beside a busy mapping, divided by that alone, {kind}", 2, "times", ratio_name(kind))
        for kind in KINDS
    ],
)
OTHERS = {
    cold_name("Node"): ("cold start of a Node function", "ms"),
    **{
        cost_name(kind, language): (f"the server's own CPU for a record through a mapping, {kind}, {language}", "µs")
        for kind in KINDS
        for language in LANGUAGES
    },
    **{empty_name(kind): (f"CPU of the server before it had mappings, {kind}", "% of a core") for kind in KINDS},
    **{alone_name(kind): (f"GetItem p99 alone, {kind}", "ms") for kind in KINDS},
    **{beside_name(kind): (f"GetItem p99 beside a busy mapping, {kind}", "ms") for kind in KINDS},
}
"""Figures without targets: name → title and unit."""
