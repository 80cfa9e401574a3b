"""Which uses of the admin API's copies harm? Forks of the whole content that are started and ended over and over."""

from torture.kinds.kind import Conditions, Hostile, Kind, web

FORKS = "/_hashrange/v1/forks"
HAS_ADMIN = Conditions(flags=("--admin",))


def fork() -> Hostile:
    """A fork that is started, and ended once it has been."""
    return web("POST", FORKS)._replace(then=(web("DELETE", f"{FORKS}/@port@"),))


KINDS = (Kind("forks", fork, ("200",), conditions=HAS_ADMIN),)
