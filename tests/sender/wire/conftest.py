"""The helpers beside the tests can be imported; at the end of the path they shadow nothing that is installed."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2]))
