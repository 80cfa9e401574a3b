"""What does a catalog give to who asks for the tables of an account and Region?"""

from hashrange.tables.open_table import OpenTable


class TableView(dict[str, OpenTable]):
    """The tables of one account and Region, by name. Catalogs refer weakly to views that have no tables."""

    __slots__ = ("__weakref__",)
