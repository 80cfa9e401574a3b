"""What does DynamoDB charge? Price tables are dated files, of which some come with the package; a person can give
another one. docs/toolkit.md says what the members of a file mean.

Source of the prices that come with the package: AWS, *Amazon DynamoDB pricing*, as told in `price_tables/`.
"""

from collections.abc import Mapping
from importlib.resources import files
from typing import Annotated, NamedTuple

import msgspec

from hashrange.toolkit.failures import UsageFault
from hashrange.written.values import TomlFault, fault_in, read_toml

FOLDER, ENDING = "price_tables", ".toml"
USUAL_REGION = "us-east-1"
ALL_FIGURES = "*"
TABLE_CLASSES = ("standard", "infrequent-access")
FILE_BYTES_MAX = 1_000_000

Price = Annotated[float, msgspec.Meta(ge=0)]
Percent = Annotated[float, msgspec.Meta(ge=0, le=100)]
Whole = Annotated[int, msgspec.Meta(ge=0)]


class _Figures(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """What all parts of a price table have in common: a wrong name in a file is refused."""


class ClassPrices(_Figures, frozen=True):
    """Prices of a table class, in USD."""

    read_unit_hour: Price
    write_unit_hour: Price
    replicated_write_unit_hour: Price
    million_reads: Price
    million_writes: Price
    million_replicated_writes: Price
    storage_gb_month: Price


class FreeUse(_Figures, frozen=True):
    """What an account has for nothing each month in a Region, of the Standard class."""

    storage_gb: Price = 0
    read_units: Whole = 0
    write_units: Whole = 0


class ReservedPrices(_Figures, frozen=True):
    """Prices of a block of reserved units: once for the term, and for each hour of the term."""

    block_units: Annotated[int, msgspec.Meta(ge=1)]
    read_block_upfront: Price
    read_block_hour: Price
    write_block_upfront: Price
    write_block_hour: Price


class ExtraPrice(_Figures, frozen=True):
    """The price of something beside units and storage: of `quantity` of its unit, beyond the first `free` ones."""

    unit: str
    price: Price
    quantity: Annotated[float, msgspec.Meta(gt=0)] = 1
    free: Price = 0


class RegionPrices(_Figures, frozen=True, rename={"infrequent_access": "infrequent-access"}):
    """Prices in a Region, in USD."""

    standard: ClassPrices
    infrequent_access: ClassPrices | None = None
    free: FreeUse = FreeUse()
    reserved: dict[str, ReservedPrices] = {}
    """Term, `1-year` or `3-years` → prices."""
    dax_node_hour: dict[str, Price] = {}
    extras: dict[str, ExtraPrice] = {}
    transfer_gb: Price = 0
    """Of data that goes to another Region."""
    savings_plan_on_demand_percent: Percent = 0
    savings_plan_provisioned_percent: Percent = 0


class PriceTable(_Figures, frozen=True):
    """All prices of one date."""

    date: str
    regions: dict[str, RegionPrices]
    unconfirmed: tuple[str, ...] = ()
    """Figures that nobody has compared with a second source, by their paths in a Region, such as `standard` or
    `standard.million_reads`."""


class Prices(NamedTuple):
    """The prices that a calculation goes by."""

    date: str
    region: str
    figures: RegionPrices
    unconfirmed: tuple[str, ...]

    def of_class(self, table_class: str) -> ClassPrices:
        """The prices of a table class, one of TABLE_CLASSES. Raises UsageFault if there are none."""
        found = self.figures.standard if table_class == TABLE_CLASSES[0] else self.figures.infrequent_access
        if found is None:
            raise UsageFault(f"the prices of {self.date} have none of the class {table_class} in {self.region}.")
        return found

    def extra_price(self, name: str) -> ExtraPrice:
        """The price of something beside units and storage. Raises UsageFault if there is none."""
        if name not in self.figures.extras:
            known = ", ".join(self.figures.extras) or "none"
            raise UsageFault(f"the prices of {self.date} know no extra {name}. They know {known}.")
        return self.figures.extras[name]

    def is_unconfirmed(self, *paths: str) -> bool:
        """True if one of these figures is."""
        return any(
            one in {ALL_FIGURES, path} or path.startswith(f"{one}.") for path in paths for one in self.unconfirmed
        )

    def told(self, *, is_unconfirmed: bool) -> str:
        """Region and date of the prices, as they stand beside a cost."""
        return f"{self.region} {self.date}{', unconfirmed' if is_unconfirmed else ''}"


def shipped_dates() -> list[str]:
    """Dates of the tables that come with the package, the newest last."""
    names = [one.name for one in files("hashrange.toolkit").joinpath(FOLDER).iterdir()]
    return sorted(name.removesuffix(ENDING) for name in names if name.endswith(ENDING))


def read_prices(name: str | None, region: str | None) -> Prices:
    """The prices of a Region. `name`: a date of `shipped_dates`, or a file; None: the newest date.

    Raises UsageFault.
    """
    dates = shipped_dates()
    if name is None or name in dates:
        date = dates[-1] if name is None else name
        table = _decoded(files("hashrange.toolkit").joinpath(FOLDER, f"{date}{ENDING}").read_bytes(), date)
    else:
        table = _decoded(_read_file(name, dates), name)
    wanted = USUAL_REGION if region is None else region
    if wanted not in table.regions:
        known = ", ".join(table.regions) or "no Region"
        raise UsageFault(
            f"the prices of {table.date} are those of {known}. Name one with --price-region, or a file that has"
            f" {wanted} with --prices."
        )
    return Prices(table.date, wanted, table.regions[wanted], table.unconfirmed)


def _read_file(name: str, dates: list[str]) -> bytes:
    try:
        with open(name, "rb") as file:
            content = file.read(FILE_BYTES_MAX + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "its name cannot be used"
        raise UsageFault(
            f'--prices is "{name}", which is no file that can be read ({reason}). Name a file, or one of'
            f" {', '.join(dates)}."
        ) from error
    if len(content) > FILE_BYTES_MAX:
        raise UsageFault(f"the price table {name} has more than {FILE_BYTES_MAX:,} bytes.")
    return content


def _decoded(content: bytes, name: str) -> PriceTable:
    try:
        members: Mapping[str, object] = read_toml(content)
    except TomlFault as fault:
        raise UsageFault(f"the price table {name} cannot be used: {fault}") from None
    try:
        return msgspec.convert(members, PriceTable)
    except msgspec.ValidationError:
        raise UsageFault(f"the price table {name} cannot be used: {fault_in(members, PriceTable)}") from None
