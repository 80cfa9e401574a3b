"""Does a hostile client hold up others? `run.py` measures one kind: a prober beside hostile clients, and beside the control."""
