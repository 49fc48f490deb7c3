"""An iteration of a search for people to read in the log."""

from typing import Any

_LONGEST = 300
"""Characters of a candidate that the table shows; the store has all of it."""


def iteration_text(iteration: dict[str, Any]) -> str:
    """The candidates, their rewards and the choice, as a table in Markdown."""
    several = iteration["paths"] > 1
    head = ["", *(["path"] if several else []), "reward", "candidate"]
    lines = [_row(head), _row(["---"] * len(head))]
    ordered = sorted(iteration["candidates"], key=lambda c: -_number(c["reward"]))
    for candidate in ordered:
        mark = "**→**" if candidate["chosen"] else ""
        reward = "missing" if candidate["reward"] is None else f"{candidate['reward']:.4f}"
        path = [str(candidate["path"])] if several else []
        lines.append(_row([mark, *path, reward, _candidate(candidate)]))
    if iteration["over"]:
        lines.append("")
        lines.append("The policy had nothing to add: the solution is complete.")
    elif not any(candidate["chosen"] for candidate in iteration["candidates"]):
        lines.append("")
        lines.append("No candidate has a reward: the step is tried again.")
    return "\n".join(lines)


def _candidate(candidate: dict[str, Any]) -> str:
    notes = []
    if candidate["final"]:
        notes.append("final")
    if candidate["count"] > 1:
        notes.append(f"drawn {candidate['count']} times")
    if candidate["missing"]:
        notes.append(candidate["missing"])
    text = candidate["step"]
    shown = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
    noted = f" *({_plain('; '.join(notes))})*" if notes else ""
    return f"`{_plain(shown) or ' '}`{noted}"


def _plain(text: str) -> str:
    """Text for a cell of a table: on one line, without what would end the cell or the code."""
    return " ".join(text.replace("|", "¦").replace("`", "'").split())


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _number(reward: float | None) -> float:
    return -1.0 if reward is None else reward
