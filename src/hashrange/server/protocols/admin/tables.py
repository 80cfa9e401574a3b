"""Which table does an admin request name? The only one of that name, in the account and Region
if the request names them.
"""

from hashrange.messages import admin as sentences
from hashrange.server.protocols.admin.endpoint import Refused
from hashrange.store.interface import Catalog
from hashrange.tables.open_table import OpenTable


def find_named_table(catalog: Catalog, name: str, account: str | None, region: str | None) -> OpenTable:
    """Return the only table of this name, account and Region (None: any). Raises Refused if none or several match."""
    places = [place for place in catalog.elsewhere(name) if account in {None, place[0]} and region in {None, place[1]}]
    if len(places) > 1:
        shown = ", ".join(f"account {account} and Region {region}" for account, region in places)
        raise Refused(409, sentences.AMBIGUOUS_TABLE.format(name=name, places=shown))
    table = catalog.find(*places[0], name) if places else None
    if table is None:
        where = "".join(
            f" {preposition} {text}"
            for preposition, text in (("of account", account), ("in Region", region))
            if text is not None
        )
        raise Refused(404, sentences.NO_TABLE.format(name=name, where=where))
    return table
