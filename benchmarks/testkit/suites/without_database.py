"""A suite that needs no database: what does an installed plugin cost it?"""


def test_nothing() -> None:
    pass
