"""An on-demand table serves twice its previous peak, which is half an hour old, and never falls."""

from hashrange.throughput.bucket import Growth


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


def test_a_peak_counts_only_once_it_is_half_an_hour_old() -> None:
    growth = Growth(4_000, 0.0)
    second_of(growth, 3_000, 10)
    second_of(growth, 4_000, 1_800)
    second_of(growth, 1, 1_811)
    assert growth.units_per_second == 6_000
    second_of(growth, 1, 3_500)
    assert growth.units_per_second == 6_000
    second_of(growth, 1, 3_601)
    assert growth.units_per_second == 8_000


def test_a_load_that_rises_all_the_time_lets_more_be_used_all_the_time() -> None:
    growth = Growth(1_000, 0.0)
    for at_seconds in range(4_000):
        second_of(growth, 400 + at_seconds / 10, at_seconds)
        oldest = 400 + (at_seconds - 1_860) / 10
        newest = 400 + (at_seconds - 1_799) / 10
        assert 2 * oldest <= growth.units_per_second <= max(1_000, 2 * newest)


def test_the_units_of_a_second_that_began_with_a_full_bucket_are_no_peak_above_the_rate() -> None:
    growth = Growth(4_000, 0.0)
    second_of(growth, 7_900, 10)
    second_of(growth, 1, 1_811)
    assert growth.units_per_second == 8_000
