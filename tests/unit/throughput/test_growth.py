"""An on-demand table serves twice its previous peak, which is half an hour old, and never falls."""

from hashrange.throughput.growth import Growth


def second_of(growth: Growth, units: float, at_seconds: float) -> bool:
    """Use units in one second; True if more may be used now."""
    has_grown = False
    for part in range(4):
        has_grown = growth.use(units / 4, at_seconds + part / 4) or has_grown
    return has_grown


def test_a_new_table_serves_the_least() -> None:
    growth = Growth(4_000, 0.0)
    assert growth.units_per_second == 4_000
    assert not second_of(growth, 1_000, 1)
    second_of(growth, 1_000, 10_000)
    assert growth.units_per_second == 4_000


def test_a_peak_doubles_what_is_served_after_half_an_hour() -> None:
    growth = Growth(4_000, 0.0)
    assert not second_of(growth, 3_900, 10)
    assert not second_of(growth, 3_000, 1_000)
    assert growth.units_per_second == 4_000
    assert second_of(growth, 1, 1_900)
    assert growth.units_per_second == 7_800


def test_a_peak_does_not_decay() -> None:
    growth = Growth(100, 0.0)
    second_of(growth, 100, 0)
    second_of(growth, 1, 1_801)
    for at_seconds in range(2_000, 100_000, 1_000):
        second_of(growth, 1, at_seconds)
    assert growth.units_per_second == 200
