"""How are Hashrange and its extras installed? Once releases are published, this file and docs/installing.md
change, and nothing else.

tests/packaging/test_documents.py holds the two together, and finds other places that say how.
"""

EXTRA = 'pip install ".[{extra}]"'
WHERE = "in a clone of the repository"


def how_to_install(extra: str) -> str:
    """The command that installs Hashrange with an extra of pyproject.toml, and where it is given:
    the end of a sentence, without a full stop.
    """
    return f"{EXTRA.format(extra=extra)} {WHERE} (docs/installing.md)"
