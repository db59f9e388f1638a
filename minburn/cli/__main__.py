"""`python -m minburn.cli` is `minburn`."""

import sys

from minburn.cli.commands import main

if __name__ == "__main__":
    sys.exit(main())
