"""The one number that both rows and verdicts are made of."""

NO_ERROR = -1
"""The label, and the verdict, of a solution without an error."""
