"""Which environment variables make AWS clients of any language call a database?
Its endpoint, a Region and credentials; it accepts any Region and credentials.
"""

from hashrange.testing.database import CREDENTIALS

KEY_VARIABLES = {
    "AWS_ACCESS_KEY_ID": CREDENTIALS["aws_access_key_id"],
    "AWS_SECRET_ACCESS_KEY": CREDENTIALS["aws_secret_access_key"],
}
PROFILE_VARIABLES = ("AWS_DEFAULT_PROFILE", "AWS_PROFILE")
"""Variables that name a profile for botocore; the first that is set counts."""
MISLEADING_VARIABLES = (
    *PROFILE_VARIABLES,
    "AWS_SESSION_TOKEN",
    "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS",
)
"""Variables that lead SDKs to other credentials or endpoints than those of `endpoint_variables`."""


def endpoint_variables(endpoint: str) -> dict[str, str]:
    """Variables with which a program in any language calls the database at this address."""
    return KEY_VARIABLES | {
        "AWS_ENDPOINT_URL_DYNAMODB": endpoint,
        "AWS_ENDPOINT_URL_DYNAMODB_STREAMS": endpoint,
        "AWS_REGION": CREDENTIALS["region_name"],
        "AWS_DEFAULT_REGION": CREDENTIALS["region_name"],
    }
