"""What do backups, restores and point-in-time recovery say? In the log, and to clients in the service's words."""

LOG_WINDOW_SHORTENED = (
    "The changes that are kept for point-in-time recovery have reached their limit (--recovery-max-mb): the table %s can"
    " now be restored to times from %.3f (seconds since 1970) on."
)
