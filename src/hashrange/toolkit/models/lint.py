"""What is there to tell of a model's design? All findings, those of the document before those of the run."""

from collections.abc import Iterator

from hashrange.toolkit.models.advice_on_keys import key_findings
from hashrange.toolkit.models.advice_on_patterns import pattern_findings, run_findings
from hashrange.toolkit.models.advice_on_tables import table_findings
from hashrange.toolkit.models.document import SchemaDocument
from hashrange.toolkit.models.finding import ModelFinding
from hashrange.toolkit.models.running import ModelRun

LEVELS = ("wrong", "advice", "note")


def find(document: SchemaDocument, run: ModelRun) -> list[ModelFinding]:
    """The findings of a document without faults and of its run, the worst first."""
    found = list(_all(document, run))
    return sorted(found, key=lambda one: LEVELS.index(one.level))


def _all(document: SchemaDocument, run: ModelRun) -> Iterator[ModelFinding]:
    yield from key_findings(document)
    for pattern in document.access_patterns:
        yield from pattern_findings(document, pattern)
    for one in run.patterns:
        yield from run_findings(one)
    yield from table_findings(document)
