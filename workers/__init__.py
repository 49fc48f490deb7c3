"""Inspect's command in processes of their own, which load it before they know what to run.

Light to import, so that workers are started before anything else is loaded here.
"""

from misstep.workers._garbage import collect_rarely, keep_what_is_loaded
from misstep.workers._worker import Worker

__all__ = ["Worker", "collect_rarely", "keep_what_is_loaded"]
