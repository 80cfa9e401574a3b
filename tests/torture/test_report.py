"""Does the page show the measured figures, and does a figure's bound depend only on its difference from the control?"""

import msgspec

from torture.figures import LossFigure, StallFigure
from torture.report import Run, render

STALL = StallFigure(
    name="some-kind",
    wire_bytes=3_000,
    decoded_bytes=12_000_000,
    clients=2,
    answer="200 (7)",
    took_ms=20.0,
    peak_mb=100.0,
    max_ms=70.0,
    p999_ms=60.0,
    control_max_ms=25.0,
    control_p999_ms=9.0,
    slowness=1.0,
    bound_ms=50.0,
)
LOSS = LossFigure(name="some cut", rounds=5, acknowledged=1_234)
RUN = Run("python -m torture", "a machine", 1.5, 1)


def test_the_control_counts_against_the_bound() -> None:
    assert STALL.is_met
    assert not msgspec.structs.replace(STALL, max_ms=75.1).is_met
    assert msgspec.structs.replace(STALL, max_ms=1075.0, control_max_ms=1025.0).is_met


def test_a_wrong_answer_breaks_a_kind() -> None:
    assert not msgspec.structs.replace(STALL, faults=("answered 500",)).is_met


def test_anything_lost_invented_or_refused_breaks_a_way() -> None:
    assert LOSS.is_met
    for change in ({"lost": 1}, {"invented": 1}, {"refused_starts": 1}, {"faults": ("it is odd",)}):
        assert not msgspec.structs.replace(LOSS, **change).is_met


def test_the_page_shows_both_tables_and_what_was_wrong() -> None:
    page = render(RUN, [STALL], [msgspec.structs.replace(LOSS, lost=2, faults=("lost: w1 key",))])
    assert "`python -m torture`" in page
    assert "a machine" in page
    assert "some-kind" in page
    assert "12.0 MB" in page
    assert "**no**" in page
    assert "- some cut: lost: w1 key" in page
    assert "Kills" not in render(RUN, [STALL], [])
