"""What Inspect imports at every start, so it stays light.

Importing these packages registers tasks, their variants, solvers, scorers and model providers.
"""

# ruff: noqa: F401
import sys

import misstep.evals
import misstep.forge
import misstep.providers
import misstep.rewards
import misstep.scorers
import misstep.solvers

# Inspect Scout looks up `misstep/first_error` here. It is slow to import, so others do not load it.
if "inspect_scout" in sys.modules:
    import misstep.scanners
