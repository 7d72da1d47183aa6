"""`python -m pytest_evalharness.cli`."""

import sys

from pytest_evalharness.cli import main

sys.exit(main())
