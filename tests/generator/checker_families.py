"""For every family: what reads the rules of its problems, and what its steps state."""

from dataclasses import dataclass

from tests.generator.checker_arithmetic import (
    counting,
    fractions,
    kinematics,
    linear_equations,
    modular_arithmetic,
    percentages,
    probability,
    read_recurrence,
    recurrences,
    scheduling,
    sequences,
    stoichiometry,
    word_problems,
)
from tests.generator.checker_numbers import read_number
from tests.generator.checker_programs import code_traces, programs, read_program, spreadsheets
from tests.generator.checker_states import (
    brackets,
    deduction,
    reachability,
    read_brackets,
    read_guests,
    read_holdings,
    read_roads,
    read_sorting,
    shuffled_objects,
    sorting,
)


@dataclass
class Family:
    rules: object
    read: object = read_number


FAMILIES = {
    "word_problems": Family(word_problems),
    "linear_equations": Family(linear_equations),
    "fractions": Family(fractions),
    "percentages": Family(percentages),
    "sequences": Family(sequences),
    "counting": Family(counting),
    "kinematics": Family(kinematics),
    "stoichiometry": Family(stoichiometry),
    "programs": Family(programs, read_program),
    "brackets": Family(brackets, read_brackets),
    "sorting": Family(sorting, read_sorting),
    "shuffled_objects": Family(shuffled_objects, read_holdings),
    "deduction": Family(deduction, read_guests),
    "probability": Family(probability),
    "modular_arithmetic": Family(modular_arithmetic),
    "recurrences": Family(recurrences, read_recurrence),
    "reachability": Family(reachability, read_roads),
    "scheduling": Family(scheduling),
    "spreadsheets": Family(spreadsheets),
    "code_traces": Family(code_traces),
}
