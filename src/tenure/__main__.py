"""`python -m tenure`: the command."""

import sys

from tenure.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
