"""What Inspect imports at every start, so it stays light.

Importing these packages registers tasks, their variants, solvers, scorers and model providers.
"""

# ruff: noqa: F401
import misstep.evals
import misstep.forge
import misstep.providers
import misstep.rewards
import misstep.scorers
import misstep.solvers
