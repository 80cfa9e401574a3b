"""The examples of the page on commands for any endpoint do what the page says."""

from pathlib import Path

from tests.clients.design_readers import read_cloudformation
from tests.docs.pages import ROOT, examples_of
from tests.docs.runs import Commands

PAGE = (ROOT / "docs" / "toolkit.md").read_text(encoding="utf-8")


def test_the_example_designs_and_creates_a_table(tmp_path: Path) -> None:
    examples = examples_of(PAGE)
    [commands] = [one for one in examples if one.language == "sh"]
    [shown] = [one for one in examples if one.language == "text"]
    with Commands(examples, tmp_path) as running:
        said = running.run(commands.text)
    assert shown.text in said
    [(service, operation, table), (_, ttl, _)] = read_cloudformation(
        (tmp_path / "orders.yaml").read_text(encoding="utf-8")
    )
    assert (service, operation, ttl) == ("dynamodb", "create_table", "update_time_to_live")
    assert table["TableName"] == "Orders"
