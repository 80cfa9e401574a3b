"""Which hostile requests are there? One file per sort of them; `table.py` lists all. No sockets, no processes: tests share them."""
