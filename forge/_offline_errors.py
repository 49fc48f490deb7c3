"""The parts of offline solutions: for each error type, a problem about a number in settings.

A claim that is right in one setting of the problem is wrong in another, and every step after the
start of a solution makes a claim. So neither the words nor the kind of a step tell whether it is
wrong. The texts are in offline_errors.yaml.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from random import Random
from typing import Any, NamedTuple

from misstep.registry import taxonomy

Numbers = Mapping[str, Any]
"""The numbers of a part by their names in the texts."""
_WORDINGS = 60
"""A number that the numbers of wordings divide."""


@dataclass(frozen=True)
class _Computation:
    """How the numbers of a part are drawn and computed."""

    draw: Callable[[Random], dict[str, int]]
    claims: Mapping[str, Callable[[Numbers], int]]
    """The value that each claim finds."""
    join: Callable[[Numbers], int]
    """The result of the part."""
    lead: Callable[[Numbers], int] | None = None
    """The value x that the step before the claim finds, if it needs one."""


def _growth(random: Random) -> dict[str, int]:
    return dict(zip("dg", random.sample(range(2, 8), 2), strict=True))


def _double(random: Random) -> dict[str, int]:
    small = random.choice((3, 5, 7, 9))
    return {"s": small, "t": 2 * small, "e": random.randrange(20, 90)}


def _sides(random: Random) -> dict[str, int]:
    a, b = random.randrange(3, 15), random.randrange(3, 15)
    return {"a": a, "b": b, "p": a * a, "q": b * b}


def _roots(random: Random) -> dict[str, int]:
    return dict(zip("pqt", random.sample(range(2, 30), 3), strict=True))


def _machines(random: Random) -> dict[str, int]:
    machines, least = random.randrange(3, 9), random.randrange(4, 20)
    return {"m": machines, "o": machines - 1, "k": least, "h": least + random.randrange(3, 15)}


def _polynomial(random: Random) -> dict[str, int]:
    a = random.randrange(2, 7)
    return {"a": a, "b": 2 * a, "e": random.randrange(40, 90)}


_COMPUTATIONS = {
    "invalid_generalization": _Computation(
        _growth,
        {
            "as_before": lambda k: 2 * k["x"] + 3 * k["d"],
            "other": lambda k: 2 * k["x"] + 3 * k["g"],
        },
        lambda k: k["v"] + k["x"],
        lambda k: k["n"] + 3 * k["d"],
    ),
    "theorem_misapplication": _Computation(
        _sides,
        {
            "pythagoras": lambda k: k["p"] + k["q"],
            "cosines": lambda k: k["p"] + k["q"] - k["a"] * k["b"],
        },
        lambda k: k["v"] + k["n"],
    ),
    "incomplete_case_analysis": _Computation(
        lambda random: {"d": random.randrange(2, 12), "q": random.randrange(5, 40)},
        {
            "above": lambda k: k["n"] + k["d"],
            "below": lambda k: k["n"] - k["d"],
            "both": lambda k: 2 * k["n"],
            "three": lambda k: 3 * k["n"],
        },
        lambda k: k["v"] + k["q"],
    ),
    "circular_reasoning": _Computation(
        lambda random: {
            "m": random.randrange(4, 12),
            "k": random.randrange(5, 15),
            "e": random.randrange(3, 30),
        },
        {"equal": lambda k: k["n"], "counted": lambda k: k["m"] * k["k"]},
        lambda k: k["n"] + k["v"] + k["e"],
    ),
    "false_equivalence": _Computation(
        _double,
        {"single": lambda k: k["x"] // k["s"], "double": lambda k: k["x"] // k["t"]},
        lambda k: k["v"],
        lambda k: k["n"] + k["e"],
    ),
    "domain_restriction_violation": _Computation(
        _roots,
        {"both": lambda k: k["p"] + k["q"], "first": lambda k: k["p"], "second": lambda k: k["q"]},
        lambda k: k["n"] + k["v"],
    ),
    "quantifier_confusion": _Computation(
        _machines,
        {"one": lambda k: k["h"] + k["o"] * k["k"], "all": lambda k: k["m"] * k["h"]},
        lambda k: k["n"] + k["v"],
    ),
    "invalid_substitution": _Computation(
        _polynomial,
        {
            "zero": lambda k: k["x"],
            "left": lambda k: k["x"] - k["a"] ** 2,
            "right": lambda k: k["x"] - k["a"] ** 2,
        },
        lambda k: k["v"],
        lambda k: k["n"] + k["e"],
    ),
}


@cache
def _texts() -> dict[str, Any]:
    import yaml

    content = (files("misstep.forge") / "offline_errors.yaml").read_text(encoding="utf-8")
    texts: dict[str, Any] = yaml.safe_load(content)
    if set(texts) != set(taxonomy()) or set(_COMPUTATIONS) != set(texts):
        raise AssertionError("every error type of the taxonomy has texts and a computation")
    return texts


class PartStep(NamedTuple):
    """The step of a part, and the number that it finds."""

    text: str
    result: int


@dataclass(frozen=True)
class Part:
    """A part of an offline solution: a problem about one number, with one claim that decides it."""

    error_type: str
    setting: str
    right: str
    """The claim that holds."""
    wrong: str | None
    """The claim of the error, if the part is to have one."""
    words: Mapping[str, Any]
    """The numbers of the part, and the words of its theme."""
    wordings: tuple[int, int, int]
    """The drawn wordings of the lead, the claim and the join."""

    def problem(self, name: str, next_name: str) -> str:
        """Return the problem about the number `name`, whose result is called `next_name`."""
        ask: str = self._texts["ask"]
        return ask.format(**self.words, N=name, R=next_name)

    @property
    def flaw(self) -> str:
        """Why the wrong claim does not hold."""
        flaw: str = self._texts["flaw"]
        return flaw.format(**self.words)

    @property
    def _texts(self) -> dict[str, Any]:
        whole = _texts()[self.error_type]
        return {**whole, **whole["settings"][self.setting]}

    def step(self, n: int, name: str, next_name: str, with_error: bool) -> PartStep:
        """Return the step that finds the next number from `n`."""
        texts, computation = self._texts, _COMPUTATIONS[self.error_type]
        known: dict[str, Any] = {**self.words, "n": n, "N": name, "R": next_name}
        claim = self.wrong if with_error and self.wrong else self.right
        if computation.lead:
            known["x"] = computation.lead(known)
        known["v"] = computation.claims[claim](known)
        known["r"] = computation.join(known)
        sentences = [texts.get("lead"), texts["claims"][claim], texts["join"]]
        drawn = [
            wordings[place % len(wordings)].format(**known)
            for wordings, place in zip(sentences, self.wordings, strict=True)
            if wordings
        ]
        return PartStep(" ".join(drawn), known["r"])


def themes() -> list[tuple[str, int]]:
    """Return all that parts can be about: their error types, each with its themes by number."""
    return [
        (kind, theme) for kind, about in _texts().items() for theme in range(len(about["themes"]))
    ]


def draw_part(error_type: str, theme: int, random: Random, with_error: bool) -> Part:
    """Draw a part. Its claim is drawn in the same way whether it is to be right or wrong."""
    about = _texts()[error_type]
    settings = about["settings"]
    wrong = [(name, claim) for name, each in settings.items() for claim in each["wrong"]]
    claims = sorted({claim for _, claim in wrong})
    claim = random.choice(claims)
    if with_error:
        setting = random.choice([name for name, wrong_claim in wrong if wrong_claim == claim])
    else:
        # Settings whose right claim is never wrong elsewhere occur, too, but less often.
        rest = sorted({each["right"] for each in settings.values()} - set(claims))
        claim = random.choice(rest) if rest and random.random() < 1 / (2 * len(claims)) else claim
        setting = next(name for name, each in settings.items() if each["right"] == claim)
    return Part(
        error_type,
        setting,
        settings[setting]["right"],
        claim if with_error else None,
        {**about["themes"][theme], **_COMPUTATIONS[error_type].draw(random)},
        (random.randrange(_WORDINGS), random.randrange(_WORDINGS), random.randrange(_WORDINGS)),
    )
