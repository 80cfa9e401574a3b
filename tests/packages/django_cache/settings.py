"""Settings of a Django application whose cache is in DynamoDB."""

INSTALLED_APPS = ["django_dynamodb_cache"]

CACHES = {
    "default": {
        "BACKEND": "django_dynamodb_cache.backend.DjangoCacheBackend",
        "LOCATION": "table-name",
        "TIMEOUT": 300,
        "KEY_PREFIX": "django_dynamodb_cache",
        "VERSION": 1,
        "OPTIONS": {
            "is_on_demand": False,
            "read_capacity_units": 1,
            "write_capacity_units": 1,
            "encode": "django_dynamodb_cache.encode.PickleEncode",
        },
    },
}
