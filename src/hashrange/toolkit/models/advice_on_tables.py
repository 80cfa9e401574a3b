"""What is to be said of a model's tables and indexes? Indexes that nobody reads or that hold too much, kinds of items
that nobody reads, figures that do not fit, and what speaks for one table or for several.
"""

from collections.abc import Iterator

from hashrange.toolkit.models.document import ModelIndex, ModelTable, SchemaDocument
from hashrange.toolkit.models.estimate import Estimate, can_be_in, estimate
from hashrange.toolkit.models.finding import ModelFinding, advice, note, wrong
from hashrange.toolkit.models.sample_items import key_attribute_names


def table_findings(document: SchemaDocument) -> Iterator[ModelFinding]:
    """The findings of all tables of a document without faults."""
    if not document.access_patterns:
        yield advice(
            "no-patterns",
            "document",
            "it has no access patterns. Write down what is read by which values, how often and in which order: keys and"
            " indexes follow from that.",
        )
    for table in document.tables:
        yield from _index_findings(document, table)
        yield from _projection_findings(document, table)
        yield from _vector_findings(document, table)
        yield from _together_findings(document, table)
    yield from _entity_findings(document)
    yield from _capacity_findings(document)
    if len(document.tables) > 1:
        yield note(
            "several-tables",
            "document",
            f"its {len(document.tables)} tables have alarms, backups, streams and permissions of their own; what is in"
            " two of them takes two requests, or a transaction.",
        )


# --- indexes ---------------------------------------------------------------------------------------------


def _index_findings(document: SchemaDocument, table: ModelTable) -> Iterator[ModelFinding]:
    patterns = document.patterns_of(table)
    used = {one.index for one in patterns}
    for name in table.index_names():
        if patterns and name not in used:
            yield advice(
                "unused-index",
                f"index {name} of {table.table_name}",
                "no access pattern reads it, and each write of its items pays for it. Delete it, or add the pattern.",
            )
    number = len(table.global_secondary_indexes)
    if patterns and number > len(patterns):
        yield advice(
            "more-indexes-than-patterns",
            f"table {table.table_name}",
            f"it has more global indexes ({number}) than access patterns ({len(patterns)}). Let kinds of items share an"
            " index: give its keys generic names, and each kind its own template.",
        )


def _projection_findings(document: SchemaDocument, table: ModelTable) -> Iterator[ModelFinding]:
    whole = [one for one in table.global_secondary_indexes if one.projection.projection_type == "ALL"]
    if len(whole) > 1 and len(whole) == len(table.global_secondary_indexes):
        yield advice(
            "project-everything",
            f"table {table.table_name}",
            f"all {len(whole)} global indexes hold every attribute, so each write is paid {len(whole) + 1} times in"
            " full. Let each hold what its access patterns ask for.",
        )
    for index in whole:
        yield from _wide_findings(document, table, index)


def _wide_findings(document: SchemaDocument, table: ModelTable, index: ModelIndex) -> Iterator[ModelFinding]:
    """A finding if all patterns of an index that holds everything name the attributes that they need."""
    patterns = [one for one in document.patterns_of(table) if one.index == index.index_name]
    if patterns and all(one.attributes for one in patterns):
        keys = {*key_attribute_names(table), *key_attribute_names(index)}
        needed = {name for one in patterns for name in one.attributes} | {
            condition.attribute for one in patterns for condition in one.filter
        }
        yield advice(
            "wide-projection",
            f"index {index.index_name} of {table.table_name}",
            f"it holds every attribute, and its access patterns ask for {', '.join(sorted(needed - keys)) or 'keys'}"
            " only. Project these (INCLUDE, or KEYS_ONLY).",
        )


def _vector_findings(document: SchemaDocument, table: ModelTable) -> Iterator[ModelFinding]:
    for vector in table.vector_indexes:
        name = vector.vector_attribute.attribute_name
        holding = [one for one in document.entities_of(table) if name in one.attributes]
        for entity in holding:
            if entity.attributes[name].type != "L":
                yield wrong(
                    "vector-type",
                    f"entity {entity.name}",
                    f"{name} is the vector of the index {vector.index_name}, and of type"
                    f" {entity.attributes[name].type}. A vector is a list of numbers: make it L.",
                )
        if not holding:
            yield wrong(
                "vector-type",
                f"index {vector.index_name} of {table.table_name}",
                f"no entity has the attribute {name}, so the index stays empty. Add it, as L.",
            )
        for index in table.indexes():
            held = index.projection.projection_type == "ALL" or name in index.projection.non_key_attributes
            if held and any(can_be_in(one, index) for one in holding):
                yield advice(
                    "vector-in-index",
                    f"index {index.index_name} of {table.table_name}",
                    f"it copies the vector {name}, number by number. Leave it out of the projection.",
                )


# --- kinds of items --------------------------------------------------------------------------------------


def _entity_findings(document: SchemaDocument) -> Iterator[ModelFinding]:
    read = {name for one in document.access_patterns for name in one.entities}
    for entity in document.entities:
        if document.access_patterns and entity.name not in read:
            yield advice(
                "no-pattern",
                f"entity {entity.name}",
                "no access pattern reads it. Add the pattern; data that nobody reads belongs into S3.",
            )
        if not entity.samples and not entity.items:
            yield advice(
                "no-samples", f"entity {entity.name}", "it has no samples, so nothing is known of it. Add one."
            )
    expiry = document.time_to_live
    for name in [] if expiry is None else expiry.entities:
        assert expiry is not None
        if document.entity(name).attributes[expiry.attribute].type != "N":
            yield wrong(
                "time-to-live",
                f"entity {name}",
                f"{expiry.attribute} is no number, so its items never expire. Make it N: seconds since 1970.",
            )


def _together_findings(document: SchemaDocument, table: ModelTable) -> Iterator[ModelFinding]:
    """A note on what a table gains or loses by holding several kinds of items."""
    entities = document.entities_of(table)
    if len(entities) < 2 or not document.access_patterns:
        return
    together = [one for one in document.patterns_of(table) if len(one.entities) > 1]
    if together:
        sentence = (
            f"one request reads several kinds of items ({', '.join(one.name for one in together)}), which only one"
            " table allows. Its price: one set of alarms, backups and permissions, and one stream, for all kinds."
        )
    else:
        sentence = (
            f"its {len(entities)} kinds of items are never read by one request together. One table then saves nothing"
            " but the work of several; tables of their own have alarms, backups, streams and permissions of their own."
        )
    yield note("one-table", f"table {table.table_name}", sentence)


# --- figures ---------------------------------------------------------------------------------------------


def _capacity_findings(document: SchemaDocument) -> Iterator[ModelFinding]:
    """Findings where the document says other units than its figures give."""
    if document.capacity is None:
        return
    computed = {(one.table, one.index_name): one for one in estimate(document)}
    for name, stated in document.capacity.tables.items():
        table = computed[name, ""]
        pairs = [
            ("readUnits", stated.read_units, table.read_units),
            ("writeUnits", stated.write_units, table.write_units),
            ("storageBytes", stated.storage_bytes, table.storage_bytes),
        ]
        for index, units in stated.indexes.items():
            found = computed.get((name, index), Estimate(name, index, 0, 0, 0))
            pairs.append((f"readUnits of {index}", units.read_units, found.read_units))
            pairs.append((f"writeUnits of {index}", units.write_units, found.write_units))
        for member, said, is_so in pairs:
            if said != is_so:
                yield advice(
                    "capacity",
                    f"capacity of {name}",
                    f"{member} is {said:,g}, and the document's requests, writes and sizes give {is_so:,g}. Mend one.",
                )
