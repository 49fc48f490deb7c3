"""How far a build is: accepted, rejected by reason, tokens and cost so far."""

from collections import Counter

from rich.console import Console, ConsoleOptions, RenderResult
from rich.markup import escape
from rich.table import Table

from misstep.forge import Result
from misstep.registry import printable

_LINES = 20
"""How many lines tell of the progress where there is no terminal to redraw."""


class Progress:
    """Counts results, and draws itself."""

    def __init__(self, wanted: int, console: Console) -> None:
        self._wanted = wanted
        self._console = console
        self._accepted = self._done = 0
        self._calls = self._input = self._output = 0
        self._cost: float | None = None
        self._rejects: Counter[str] = Counter()

    def add(self, result: Result) -> None:
        """Count a result."""
        self._done += 1
        self._accepted += result.example is not None
        self._rejects.update({reject.name for reject in result.rejects})
        self._calls += result.spent.calls
        self._input += result.spent.input_tokens
        self._output += result.spent.output_tokens
        if result.spent.cost is not None:
            self._cost = (self._cost or 0.0) + result.spent.cost
        if not self._console.is_terminal and self._done % max(1, self._wanted // _LINES) == 0:
            self._console.print(self._line(), highlight=False)

    def _line(self) -> str:
        cost = "cost unknown" if self._cost is None else f"${self._cost:.2f}"
        return (
            f"{self._done:,} of {self._wanted:,}: {self._accepted:,} accepted, "
            f"{self._done - self._accepted:,} rejected; {self._calls:,} calls, "
            f"{self._input:,} tokens in, {self._output:,} out, {cost}"
        )

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield self._line()
        if self._rejects:
            table = Table(box=None, pad_edge=False, header_style="bold")
            table.add_column("rejected for")
            table.add_column("solutions", justify="right")
            for name, count in self._rejects.most_common():
                table.add_row(escape(printable(name)), f"{count:,}")
            yield table
