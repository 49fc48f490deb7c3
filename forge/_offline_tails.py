"""The ends of offline solutions, by the type of error that is made in them."""

from collections.abc import Callable
from random import Random

from misstep.forge._offline_cases import (
    circular_reasoning,
    incomplete_case_analysis,
    invalid_generalization,
    theorem_misapplication,
)
from misstep.forge._offline_conditions import (
    domain_restriction_violation,
    false_equivalence,
    invalid_substitution,
    quantifier_confusion,
)
from misstep.forge._offline_tail import Tail

TAILS: dict[str, Callable[[Random, int, int], Tail]] = {
    make.__name__: make
    for make in (
        invalid_generalization,
        theorem_misapplication,
        incomplete_case_analysis,
        circular_reasoning,
        false_equivalence,
        domain_restriction_violation,
        quantifier_confusion,
        invalid_substitution,
    )
}
"""By the type of error that is made in them."""
