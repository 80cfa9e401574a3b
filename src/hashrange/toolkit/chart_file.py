"""How does a chart become a PNG? By matplotlib, which is in the extra `plot` and loaded when it draws."""

import io
from importlib.util import find_spec
from pathlib import Path

from hashrange.messages.installing import how_to_install
from hashrange.toolkit.capacity_costs import rounded
from hashrange.toolkit.failures import ToolkitFailure, UsageFault
from hashrange.toolkit.load_chart import BY_LOAD, X_LABEL, LoadChart

ENDING = ".png"
INCHES = (9.0, 5.0)
DOTS_PER_INCH = 120
NEEDS_MATPLOTLIB = (
    "a PNG is drawn by matplotlib, which is not installed. Install it: {install}. Or say --plot -, which needs nothing."
)


def require_plotting(path: str) -> None:
    """Raise UsageFault or ToolkitFailure, before anything is computed, if no PNG can be drawn into this file."""
    if not path.lower().endswith(ENDING):
        raise UsageFault(f'--plot is "{path}"; it must be a file that ends with {ENDING}, or - for a picture here.')
    try:
        is_there = Path(path).exists()
    except ValueError:
        raise UsageFault(f"the name {path} cannot be used. Name another file.") from None
    if is_there:
        raise UsageFault(f"the file {path} exists already. Name another one.")
    if find_spec("matplotlib") is None:
        raise ToolkitFailure(NEEDS_MATPLOTLIB.format(install=how_to_install("plot")))


def write_png(chart: LoadChart, path: str) -> None:
    """Draw a chart into a file that does not exist yet. Raises UsageFault if it cannot be written."""
    content = _png(chart)
    try:
        with open(path, "xb") as file:
            file.write(content)
    except OSError as error:
        raise UsageFault(f"the file {path} cannot be written: {error.strerror}. Name another one.") from error


def _png(chart: LoadChart) -> bytes:
    # Imported here: matplotlib is in an extra, and loading it takes most of a second.
    from matplotlib.figure import Figure

    figure = Figure(figsize=INCHES, layout="constrained")
    axes = figure.add_subplot()
    for line in chart.lines:
        style = "-" if line.mode in BY_LOAD else "--"
        label = f"{line.mode}: {rounded(line.now):,.2f}"
        axes.plot([0, 100], [line.at_none, line.at_full], style, label=label)
    axes.axvline(chart.used_percent, color="black", linestyle=":", label=f"now: {chart.used_percent:.1f} %")
    axes.set(title=chart.title, xlabel=X_LABEL, ylabel="USD in a month", xlim=(0, 100), ylim=(0, chart.most * 1.05))
    axes.grid(visible=True, alpha=0.3)
    axes.legend(loc="upper left")
    drawn = io.BytesIO()
    figure.savefig(drawn, format="png", dpi=DOTS_PER_INCH)
    return drawn.getvalue()
