# SPDX-License-Identifier: Apache-2.0
"""Every case on every instruction set that runs here, for teams of 1, 2 and 5, between guard zones. `--sanitize`: under
the address and undefined-behaviour sanitizers."""
import sys

from cases import all_cases
from harness import run_all
from tap import done

run_all(all_cases(), "--sanitize" in sys.argv)
done()
