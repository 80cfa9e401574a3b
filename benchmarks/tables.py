"""How is a Markdown table written? Aligned, so that it can be read in a terminal too."""

from collections.abc import Sequence

DASH = "\N{EN DASH}"
"""Cell of a figure that was not, or could not be, measured."""


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return the table; columns of figures are aligned to the right; a row has as many cells as there are columns."""
    widths = [max(3, *(len(row[place]) for row in [columns, *rows])) for place in range(len(columns))]
    is_right = [place > 0 and all(looks_numeric(row[place]) for row in rows) for place in range(len(columns))]
    rule = [("-" * (width - 1) + ":") if right else "-" * width for width, right in zip(widths, is_right, strict=True)]
    lines = [columns, rule, *rows]
    return "\n".join(
        "| "
        + " | ".join(fit(cell, width, right) for cell, width, right in zip(line, widths, is_right, strict=True))
        + " |"
        for line in lines
    )


def fit(cell: str, width: int, is_right: bool) -> str:
    """Return the text padded to the width."""
    return cell.rjust(width) if is_right else cell.ljust(width)


def looks_numeric(cell: str) -> bool:
    """True if the text is empty or a dash, or begins like a figure."""
    return cell in {"", DASH} or cell.lstrip("≤≥ ")[:1].isdigit()


def number(value: float) -> str:
    """Return the value with about three digits."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}".rstrip("0").rstrip(".")
