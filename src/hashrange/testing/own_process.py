"""In which process does this code run? A forked process is known by its id,
which differs from that of the first one.
"""

import os

process_id = os.getpid
"""Return the id of the process, in 0.05 µs.

A thread that is not alive shows a fork as well, but a signal handler that raises while `Thread.is_alive` runs makes it
return False from then on.
"""
