"""Which error messages concern keys? The service's, each defined once;
none is sent with "1 validation error detected: " before it.

Source: service behaviour, captures to Oct 2026 (keys), including the missing blank in PARTITION_KEY_TOO_LONG.
"""

_INVALID_PARAMETERS = "One or more parameter values were invalid: "
_NOT_VALID = "One or more parameter values are not valid. "

KEY_SCHEMA_MISMATCH = "The provided key element does not match the schema"
"""For a key map with missing, additional or wrongly typed attributes; in BatchWriteItem also for an item to
be put whose key attributes are missing or wrongly typed."""

ITEM_KEY_MISSING = _INVALID_PARAMETERS + "Missing the key {name} in the item"
ITEM_KEY_TYPE = _INVALID_PARAMETERS + "Type mismatch for key {name} expected: {expected} actual: {actual}"

EMPTY_KEY = {
    "S": _NOT_VALID + "The AttributeValue for a key attribute cannot contain an empty string value. Key: {name}",
    "B": _NOT_VALID + "The AttributeValue for a key attribute cannot contain an empty binary value. Key: {name}",
}
"""Type of the empty key attribute → message."""
PARTITION_KEY_TOO_LONG = _INVALID_PARAMETERS + "Size of hashkey has exceeded the maximum size limit of2048 bytes"
SORT_KEY_TOO_LONG = _INVALID_PARAMETERS + "Aggregated size of all range keys has exceeded the size limit of 1024 bytes"

# --- keys of secondary indexes ------------------------------------------------------------------

INDEX_KEY_TYPE = (
    _INVALID_PARAMETERS + "Type mismatch for Index Key {name} Expected: {expected} Actual: {actual} IndexName: {index}"
)
INDEX_KEY_EMPTY = {
    type_name: _NOT_VALID
    + "A value specified for a secondary index key is not supported. The AttributeValue for a key attribute cannot"
    + f" contain an empty {noun} value. IndexName: {{index}}, IndexKey: {{name}}"
    for type_name, noun in (("S", "string"), ("B", "binary"))
}
"""Type of the empty index key attribute → message, if the request gives a whole item."""
UPDATED_INDEX_KEY_EMPTY = {
    type_name: _NOT_VALID
    + "The update expression attempted to update a secondary index key to a value that is not supported. The"
    + f" AttributeValue for a key attribute cannot contain an empty {noun} value."
    for type_name, noun in (("S", "string"), ("B", "binary"))
}
"""Type of the empty index key attribute → message, if an update made it empty."""
UPDATED_INDEX_KEY_TYPE = "The update expression attempted to update the secondary index key to unsupported type"
"""For a value that the update computed; a value in the request gets INDEX_KEY_TYPE, before the item is read."""
UPDATED_INDEX_KEY_TOO_LONG = (
    "The update expression attempted to update the secondary index key beyond allowed size limits."
)
