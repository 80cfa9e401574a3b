"""What a model's units and bytes cost in a month."""

import math

import pytest

from hashrange.toolkit.models.advice_on_keys import key_findings
from hashrange.toolkit.models.estimate import estimate, monthly_usd, told_prices
from hashrange.toolkit.models.faults import document_faults
from hashrange.toolkit.prices import read_prices
from tests.unit.toolkit.models.documents import changed, read

PRICES = read_prices("2024-10", None)


def test_units_and_storage_cost_what_the_price_table_says() -> None:
    """80 read units and 21 write units a second are 210.24 and 55.188 millions in 730 hours."""
    document = read(changed({}))
    table, index = estimate(document)
    assert (table.read_units, table.write_units, table.storage_bytes) == (80, 21, 16_300_000)
    costs = monthly_usd(document, PRICES)
    assert costs[0] == pytest.approx(210.24 * 0.25 + 55.188 * 1.25 + 16_300_000 / (1 << 30) * 0.25)
    assert costs[1] == pytest.approx(index.million_reads * 0.25 + index.million_writes * 1.25 + index.storage_gb * 0.25)
    assert told_prices(document, PRICES) == "us-east-1 2024-10"


def test_another_table_class_has_other_prices() -> None:
    document = read(changed({"tables/0/TableClass": "STANDARD_INFREQUENT_ACCESS"}))
    figures = PRICES.of_class("infrequent-access")
    table, _ = estimate(document)
    units = table.million_reads * figures.million_reads + table.million_writes * figures.million_writes
    assert monthly_usd(document, PRICES)[0] == pytest.approx(units + table.storage_gb * figures.storage_gb_month)
    assert figures.million_reads != PRICES.figures.standard.million_reads
    assert told_prices(document, PRICES) == "us-east-1 2024-10, unconfirmed"


def test_the_greatest_figures_cost_a_finite_sum() -> None:
    """Each figure is at its limit, and a key is made of many attributes with many values each."""
    many = {f"a{number}": {"type": "S", "required": True, "distinctValues": 10**12} for number in range(60)}
    key = "".join(f"{{{name}}}" for name in many)
    made = changed(
        {
            "entities/0/itemBytes": 10**8,
            "entities/0/itemCount": 10**12,
            "entities/0/writesPerSecond": 1e9,
            "entities/0/attributes": many,
            "entities/0/key/PK": key,
            "entities/0/samples": [],
            "accessPatterns/0/itemsPerRequest": 1e9,
            "accessPatterns/0/requestsPerSecond": 1e9,
            "accessPatterns/0/sample": None,
            "accessPatterns/0/partitionKey": key,
            "accessPatterns/1/sample": None,
            "accessPatterns/1/key/PK": key,
        }
    )
    document = read(made)
    assert list(document_faults(document)) == []
    assert all(math.isfinite(cost) for cost in monthly_usd(document, PRICES))
    assert {one.rule for one in key_findings(document)} == {"large-item"}
