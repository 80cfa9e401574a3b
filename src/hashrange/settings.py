"""What can an operator choose? One frozen struct; every option, its default and its unit."""

import msgspec


class Settings(msgspec.Struct, frozen=True):
    """Options of `hashrange serve`."""

    host: str = "127.0.0.1"
    port: int = 8000
    data_dir: str | None = "./hashrange-data"
    """Folder of the data; None keeps everything in memory."""
    table_state_delay_seconds: float = 0.0
    """How long a table stays CREATING, UPDATING or DELETING."""
