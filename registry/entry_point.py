"""What Inspect imports at every start, so it stays light.

Importing these packages registers tasks, their variants, solvers, scorers and model providers.
"""

# ruff: noqa: F401
import gc
import sys

# Loading makes many objects and no garbage. To look for some would take a third of the time.
_collects = gc.isenabled()
gc.disable()
try:
    import misstep.evals
    import misstep.forge
    import misstep.providers
    import misstep.rewards
    import misstep.scorers
    import misstep.solvers

    # Inspect Scout looks up `misstep/first_error` here. It is slow to import, so others do not
    # load it.
    if "inspect_scout" in sys.modules:
        import misstep.scanners
finally:
    if _collects:
        gc.enable()
