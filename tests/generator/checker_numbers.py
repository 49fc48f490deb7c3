"""What every quantity of a problem in numbers ought to be, read from the problem's text."""

import re
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

NUMBER = r"-?\d+(?:/\d+|\.\d+)?"


STATED = re.compile(rf" = ({NUMBER})(?![\d/])")


@dataclass
class Truth:
    values: dict[str, Fraction]
    answer: str

    @cached_property
    def names(self):
        """Finds the names; of those that hold one another the longest."""
        names = sorted(self.values, key=len, reverse=True)
        return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, names))})(?!\w)", re.I)


def claim(family, text, truth):
    """Whether the quantity that a step names has the value that it states."""
    stated, named = STATED.search(text), {name.lower() for name in truth.names.findall(text)}
    if not stated or len(named) != 1:
        return None
    return Fraction(stated[1]) == truth.values[named.pop()]


def word_problems(problem):
    first, noun = re.search(r"has (\d+) (\w+)\.", problem).groups()
    of = {noun: int(first)}
    for sentence in re.split(r"(?<=\.) ", problem)[1:-1]:
        if found := re.match(r"It has (\d+) (more|fewer) (\w+) than (\w+)\.", sentence):
            by, way, name, base = found.groups()
            of[name] = of[base] + int(by) * (1 if way == "more" else -1)
        elif found := re.match(r"It has (\d+) times as many (\w+) as (\w+)\.", sentence):
            of[found[2]] = of[found[3]] * int(found[1])
        else:
            found = re.match(
                r"If it has more than (\d+) (\w+), it has (\d+) (more|fewer) (\w+) than", sentence
            )
            limit, base, by, way, name = found.groups()
            up = (way == "more") == (of[base] > int(limit))
            of[name] = of[base] + int(by) * (1 if up else -1)
    values = {f"the {name}": value for name, value in of.items()}
    values["the total"] = sum(of.values())
    return Truth(values, str(values["the total"]))


def sequences(problem):
    first, difference, growth, by = map(
        int,
        re.search(
            r"term 1 equal to (\d+)\. Difference 1 is (\d+), .* (\d+) more .* divisible by (\d+)",
            problem,
        ).groups(),
    )
    asked = [int(number) for number in re.findall(r"term (\d+)", problem.rpartition(". ")[2])]
    values = {"term 1": first, "difference 1": difference}
    for number in range(1, 30):
        term, step = values[f"term {number}"], values[f"difference {number}"]
        values[f"term {number + 1}"] = term - step if term % by == 0 else term + step
        values[f"difference {number + 1}"] = step + growth
    answer = sum(values[f"term {number}"] for number in asked)
    values["the sum"] = answer
    return Truth(values, str(answer))


def counting(problem):
    counts = []
    for case in re.findall(r"Case \d+: ([^.]*)\.", problem):
        numbers = [int(number) for number in re.findall(r"\d+", case)]
        if "rows" in case:
            a, b, *broken = numbers
            counts.append(a * b - sum(broken))
        elif "both included" in case:
            counts.append(len(range(numbers[0], numbers[1] + 1)))
        else:
            counts.append(sum(range(numbers[0])))
    values = {f"case {number}": count for number, count in enumerate(counts, start=1)}
    for name, low, high in re.findall(r"Subtotal (\d+): cases (\d+) to (\d+)", problem):
        values[f"subtotal {name}"] = sum(counts[int(low) - 1 : int(high)])
    values["the total"] = sum(counts)
    return Truth(values, str(sum(counts)))


def kinematics(problem):
    place = int(re.search(r"starts (\d+) m east", problem)[1])
    values = {}
    legs = re.findall(r"Leg (\d+): (\d+) (h|km) (\d+) (?:min at (\d+) m a minute|m) (\w+)", problem)
    for number, large, unit, small, speed, way in legs:
        length = int(large) * 1000 + int(small)
        if unit == "h":
            minutes = int(large) * 60 + int(small)
            values[f"the minutes of leg {number}"] = minutes
            length = minutes * int(speed)
        values[f"the length of leg {number}"] = length
        place += length if way == "east" else -length
        values[f"the place after leg {number}"] = place
    return Truth(values, str(place))


def stoichiometry(problem):
    mass, name, molar = re.match(r"(\d+) g of (\w+) are used, at (\d+) g a mole", problem).groups()
    moles = Fraction(int(mass), int(molar))
    values = {f"the moles of {name}": moles}
    for sentence in re.split(r"(?<=\.) ", problem)[1:]:
        n = [int(number) for number in re.findall(r"\d+", sentence)]
        after = re.findall(r"(?:moles?|them) of (\w+)", sentence)
        if re.match(r"Each mole of \w+ gives (\d+) moles", sentence):
            moles *= n[0]
        elif sentence.startswith("Every "):
            moles = moles * n[1] / n[0]
        elif "are lost" in sentence:
            moles -= n[0]
        elif "needs one mole of water" in sentence:
            moles = min(moles, Fraction(n[0]))
        elif " g a mole, are added" in sentence:
            moles += Fraction(n[0], n[1])
        elif "of it are added" in sentence:
            moles += n[0]
        else:
            continue
        after = [other for other in after if other not in ("water", "it")]
        name = after[-1]
        values[f"the moles of {name}"] = moles
    weight = int(re.search(r"weighs (\d+) g", problem)[1])
    values[f"the mass of {name}"] = moles * weight
    return Truth(values, str(moles * weight))


def linear_equations(problem):
    values = {}
    equations, asked = re.match(r"Given (.*), find (\w)\.", problem).groups()
    for equation in equations.split(", "):
        if found := re.match(r"(\w) = (-?\d+)$", equation):
            values[found[1]] = Fraction(found[2])
            continue
        own, name, sign, factor, base, right = re.match(
            r"(\d*)([a-z]) ([+-]) (\d+)([a-z]) = (-?\d+)$", equation
        ).groups()
        product = int(factor) * values[base]
        values[f"{factor}{base}"] = product
        side = int(right) - product * (1 if sign == "+" else -1)
        values[f"{own}{name}"] = side
        values[name] = side / int(own or 1)
    return Truth(values, str(values[asked]))


def fractions(problem):
    level = Fraction(re.search(rf"holds ({NUMBER}) litres", problem)[1])
    values = {}
    for number, action in re.findall(r"Action (\d+): ([^.]*)\.", problem):
        if "doubled" in action:
            level *= 2
        else:
            amount = Fraction(re.match(NUMBER, action)[0])
            if "of what is in" in action:
                amount *= level
                values[f"the part in action {number}"] = amount
            level += amount if "poured in" in action else -amount
        values[f"the level after action {number}"] = level
    return Truth(values, str(level))


def percentages(problem):
    price = Fraction(re.search(r"A price is (\d+)", problem)[1])
    values = {}
    for number, way, by, rate in re.findall(
        r"Change (\d+): it goes (up|down) by (\d+)(%?)", problem
    ):
        amount = Fraction(by)
        if rate:
            amount = price * amount / 100
            values[f"the amount of change {number}"] = amount
        price += amount if way == "up" else -amount
        values[f"the price after change {number}"] = price
    return Truth(values, f"{float(price):.3f}".rstrip("0").rstrip("."))


FAMILIES = {
    function.__name__: function
    for function in (
        word_problems,
        sequences,
        counting,
        kinematics,
        stoichiometry,
        linear_equations,
        fractions,
        percentages,
    )
}
