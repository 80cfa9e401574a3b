"""Does a hostile client hold up others? `run.py` measures one kind:
a prober with hostile clients on its server, and on a control.
"""
