"""What goes wrong with a cluster on this machine? One error for all of it, whose text is for the person who asked."""

from hashrange.errors import HashrangeError


class ClusterFailure(HashrangeError):
    """The cluster cannot do what was asked. The message names the thing, the reason and the way out."""
