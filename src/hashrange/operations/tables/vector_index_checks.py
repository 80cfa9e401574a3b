"""May a table have these vector indexes? The checks of CreateTable and UpdateTable for one index by itself,
and for vector indexes beside a table's keys and other indexes.

Order for CreateTable: the list is not empty → billing mode → of each index: dimensions, projection, search schema →
names → numbers of indexes, of INLINE_FILTER elements and of projected attributes → dimensions of the same vector
attribute → vector attributes that are defined. Source: service behaviour, captures from August to October 2026;
of which of several faults comes first, little is known.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence

from hashrange import limits
from hashrange.errors import ValidationException
from hashrange.items.steps import walk
from hashrange.messages import vector_indexes as say
from hashrange.operations.tables.index_members import NewVectorIndex
from hashrange.tables.schema import KeySchema, Table, VectorIndex


def require_on_demand(billing_mode: str | None) -> None:
    """Refuse vector indexes in another billing mode; None: the request has none, which means PROVISIONED."""
    if billing_mode != "PAY_PER_REQUEST":
        raise ValidationException(say.ONLY_ON_DEMAND)


def check_dimensions(index: NewVectorIndex) -> None:
    """Refuse more dimensions than an index may have; the request's members are at least 1."""
    if index.Dimensions > limits.VECTOR_DIMENSIONS_MAX:
        raise ValidationException(say.DIMENSIONS_RANGE.format(limit=limits.VECTOR_DIMENSIONS_MAX))


def check_projected_names(index: NewVectorIndex) -> None:
    """Refuse an attribute that is named twice in NonKeyAttributes; key attributes may be named there."""
    seen: set[str] = set()
    for name in index.Projection.NonKeyAttributes or ():
        if name in seen:
            raise ValidationException(say.NON_KEY_ATTRIBUTE_TWICE.format(name=name))
        seen.add(name)


def check_search_schema(index: NewVectorIndex, defined: Collection[str]) -> None:
    """Refuse a search schema with an attribute that is not defined, with several HASH elements, or with one attribute
    twice. `defined`: names in the request's AttributeDefinitions.
    """
    names = [element.AttributeName for element in walk(index.SearchSchema or ())]
    if any(name not in defined for name in walk(names)):
        raise ValidationException(say.SEARCH_ATTRIBUTE_NOT_DEFINED)
    _check_count(index, "HASH", limits.SEARCH_HASH_ELEMENTS_MAX)
    if len(set(names)) < len(names):
        raise ValidationException(say.SEARCH_ATTRIBUTE_TWICE)


def check_vector_limits(index: NewVectorIndex) -> None:
    """Refuse too many INLINE_FILTER elements or projected attributes of one index."""
    filters = _check_count(index, "INLINE_FILTER", limits.INLINE_FILTERS_MAX)
    if 1 + filters + len(index.Projection.NonKeyAttributes or ()) > limits.VECTOR_PROJECTED_MAX:
        raise ValidationException(
            say.TOO_MANY_PROJECTED_BY_VECTORS.format(index=index.IndexName, limit=limits.VECTOR_PROJECTED_MAX)
        )


def _check_count(index: NewVectorIndex, kind: str, limit: int) -> int:
    """How many elements of this type the search schema has; refuses more than `limit`."""
    count = sum(element.SearchSchemaElementType == kind for element in walk(index.SearchSchema or ()))
    if count > limit:
        raise ValidationException(say.TOO_MANY_SEARCH_ELEMENTS.format(count=count, kind=kind, limit=limit))
    return count


def check_vectors_together(
    indexes: Sequence[NewVectorIndex], defined: Collection[str], present: Iterable[VectorIndex] = ()
) -> None:
    """Refuse other dimensions on the same vector attribute, and vector attributes that the request defines.

    `present`: the table's own vector indexes.
    """
    dimensions = {one.attribute: one.dimensions for one in present}
    for index in walk(indexes):
        name = index.VectorAttribute.AttributeName
        if dimensions.setdefault(name, index.Dimensions) != index.Dimensions:
            raise ValidationException(say.OTHER_DIMENSIONS.format(name=name))
    for name in walk(dimensions):
        if name in defined:
            raise ValidationException(say.VECTOR_ATTRIBUTE_DEFINED.format(name=name))


# --- attributes that a table already has ----------------------------------------------------------


def check_redefined(index: NewVectorIndex, types: Mapping[str, str], table: Table) -> None:
    """Refuse a vector attribute that the table's keys, indexes or search schemas use, and an attribute of the search
    schema whose type in the request is not the table's. `types`: name → type in the request's AttributeDefinitions.
    """
    name = index.VectorAttribute.AttributeName
    if name in table.attribute_types:
        raise _redefined(_existing_schema(table, name), _vector_schema(name, index.Dimensions))
    for element in walk(index.SearchSchema or ()):
        name, kind = element.AttributeName, element.SearchSchemaElementType
        if table.attribute_types.get(name, types[name]) != types[name]:
            raise _redefined(_existing_schema(table, name), _search_schema(name, types[name], kind))


def check_keyed_vectors(keys: KeySchema, table: Table) -> None:
    """Refuse a new global index with a key attribute that is a vector attribute of the table."""
    for one in table.vector_indexes:
        if one.attribute in keys.names:
            raise _redefined(_vector_schema(one.attribute, one.dimensions), _key_schema(keys))


def _redefined(existing: str, new: str) -> ValidationException:
    return ValidationException(say.ATTRIBUTE_REDEFINED.format(existing=existing, new=new))


def _existing_schema(table: Table, name: str) -> str:
    """How the message shows what uses a defined attribute: a key schema, or else an element of a search schema."""
    schemas = [table.keys, *[one.keys for one in table.indexes]]
    keyed = next((keys for keys in schemas if name in keys.names), None)
    if keyed is not None:
        return _key_schema(keyed)
    elements = [element for index in table.vector_indexes for element in index.search_schema]
    kind = next((element.kind for element in elements if element.name == name), "HASH")
    return _search_schema(name, table.attribute_types[name], kind)


def _key_schema(keys: KeySchema) -> str:
    elements = [
        say.SCHEMA_ELEMENT.format(name=name, type=key_type, kind="HASH" if name in keys.partition_names else "RANGE")
        for name, key_type in keys.attributes
    ]
    return say.SCHEMA.format(elements=", ".join(elements))


def _vector_schema(name: str, dimensions: int) -> str:
    return say.VECTOR_SCHEMA.format(elements=say.VECTOR_ELEMENT.format(name=name, dimensions=dimensions))


def _search_schema(name: str, key_type: str, kind: str) -> str:
    return say.VECTOR_SCHEMA.format(elements=say.SEARCH_ELEMENT.format(name=name, type=key_type, kind=kind))
