"""Which hostile requests are there? One file per sort; `table.py` lists all.
No sockets or processes, so that tests share them.
"""
