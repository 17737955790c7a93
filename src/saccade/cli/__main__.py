"""``python -m saccade.cli``."""

import sys

from saccade.cli import main

sys.exit(main())
