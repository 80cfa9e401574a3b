"""How is Hashrange run as a module? `python -m hashrange` is `hashrange`."""

import sys

from hashrange.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
