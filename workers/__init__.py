"""Inspect's command in processes of their own, which come from one that has loaded it.

Light to import, so that it is loaded there before anything else is loaded here.
"""

from misstep.workers._garbage import collect_rarely, keep_what_is_loaded
from misstep.workers._workers import Workers

__all__ = ["Workers", "collect_rarely", "keep_what_is_loaded"]
