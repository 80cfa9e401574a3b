"""What only odd names show: escapes of each language. tests/clients/test_design.py runs the real tools."""

import pytest

from hashrange.toolkit.design_cdk import cdk
from hashrange.toolkit.design_cloudformation import cloudformation, unique_names
from hashrange.toolkit.design_terraform import hcl, hcl_label, terraform
from hashrange.toolkit.failures import ToolkitFailure
from hashrange.toolkit.table_design import DesignedCapacity, DesignedIndex, DesignedKey, DesignedUnits, TableDesign

ODD = TableDesign("1.a", DesignedKey("it's"), tags=(("why", "${not} %{so}"), ("!Ref", "!Ref 'x'"), ("on", "yes")))


def test_terraform_escapes_templates_and_names() -> None:
    assert hcl('a"${b}%{c}') == r'"a\"$${b}%%{c}"'
    assert hcl("\x9b\u202e\b\n\\\U000e0001é") == r'"\u009b\u202e\u0008\n\\\U000e0001é"'
    assert hcl_label("9.Lives-x") == "_9_lives-x"
    assert '"why"  = "$${not} %%{so}"' in terraform(ODD)


def test_terraform_ignores_only_what_auto_scaling_changes() -> None:
    scaled, fixed = (DesignedCapacity(DesignedUnits(1, most), DesignedUnits(1)) for most in (9, None))
    index = DesignedIndex("by-a", (DesignedKey("a"),))
    both = ODD._replace(capacity=fixed, global_indexes=(index._replace(capacity=scaled),))
    assert "ignore_changes = [global_secondary_index]" in terraform(both)
    both = ODD._replace(capacity=scaled, global_indexes=(index._replace(capacity=fixed),))
    assert "ignore_changes = [read_capacity, write_capacity]" in terraform(both)
    assert "ignore_changes" not in terraform(ODD._replace(capacity=fixed))


def test_typescript_escapes_quotes_and_names() -> None:
    text = cdk(ODD)
    assert r"name: 'it\'s'" in text
    assert "class Table1AStack extends Stack" in text


def test_yaml_keeps_texts_that_look_like_something_else() -> None:
    import yaml

    text = cloudformation(ODD)
    assert "Value: !Ref 1ATable\n" in text
    read = yaml.load(text.replace("!Ref 1", "x").replace("!GetAtt 1", "x"), yaml.SafeLoader)
    tags = read["Resources"]["1ATable"]["Properties"]["Tags"]
    assert [(one["Key"], one["Value"]) for one in tags] == list(ODD.tags)


def test_repeated_names_get_a_number() -> None:
    assert unique_names(["a", "b", "a", "a2", "a"]) == ["a", "b", "a2", "a22", "a3"]


def test_without_pyyaml_a_sentence_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    from hashrange.toolkit import design_cloudformation

    monkeypatch.setattr(design_cloudformation, "find_spec", lambda name: None)
    with pytest.raises(ToolkitFailure, match=r"PyYAML, which is not installed\. Install it: .*\[toolkit\]"):
        cloudformation(ODD)
