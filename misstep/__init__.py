"""Process-level evaluations on Inspect AI: where does the reasoning first go wrong?"""

from importlib.metadata import version

__version__ = version("misstep")
