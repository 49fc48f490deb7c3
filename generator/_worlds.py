"""Agents in small worlds of tools: files, a calendar and a shop. One step may be wrong.

A world answers tool calls from its state and from nothing else. An agent follows the task. Where it
decides something, a draft knows a wrong decision too; after it, the agent continues from what it
sees. So the first wrong step is known exactly.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from math import floor
from random import Random
from typing import Any

from misstep.generator._solutions import VERSION, check_count
from misstep.verdicts import NO_ERROR

WORLDS = ("files", "calendar", "shop")
FIRST_HOUR, LAST_HOUR = 9, 17
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday")
TOPICS = ("sales", "travel", "rent", "repairs", "salaries", "food", "energy", "training", "post")
TITLES = ("planning", "review", "interview", "budget", "training", "call", "workshop", "lunch")
GOODS = ("lamp", "chair", "kettle", "mirror", "clock", "blanket", "basket", "vase", "shelf")
SELLERS = ("Alder", "Birch", "Cedar", "Hazel", "Maple", "Rowan")

LEADS = ("", "Next step. ", "Let me go on. ", "I continue. ", "Now this. ")


@dataclass
class Agent:
    """An agent at work: its messages so far, and the decisions that it can get wrong."""

    random: Random
    wrong_at: int | None = None
    """The decision that it gets wrong."""
    messages: list[dict[str, Any]] = field(default_factory=list)
    steps: int = 0
    decisions: list[tuple[int, str]] = field(default_factory=list)
    """The step of every decision that can be wrong, and the type of that error."""

    def decide(self, error_type: str, right: Any, wrong: Sequence[Any]) -> Any:  # noqa: ANN401
        """Return the right decision, or a wrong one."""
        others = [other for other in wrong if other != right]
        picked = self.random.choice(others) if others else right
        if not others:
            return right
        self.decisions.append((self.steps, error_type))
        return picked if len(self.decisions) - 1 == self.wrong_at else right

    def call(self, why: str, tool: Callable[..., Any], **arguments: Any) -> Any:  # noqa: ANN401
        """Call a tool, and return its result."""
        result = tool(**arguments)
        call_id = f"c{self.steps}"
        function = {"name": tool.__name__, "arguments": json.dumps(arguments)}
        call = {"id": call_id, "type": "function", "function": function}
        text = self.random.choice(LEADS) + why
        self.messages.append({"role": "assistant", "content": text, "tool_calls": [call]})
        self.messages.append(
            {"role": "tool", "tool_call_id": call_id, "content": json.dumps(result)}
        )
        self.steps += 1
        return result

    def say(self, text: str) -> None:
        """Give the final answer."""
        self.messages.append({"role": "assistant", "content": text})
        self.steps += 1


class Files:
    """Reports with totals in a folder: add them up, and archive the large ones."""

    def __init__(self, random: Random, size: int) -> None:
        topics = random.sample(TOPICS, max(2, min(size - 4, 7)))
        self.totals = {f"inbox/{topic}.txt": random.randrange(120, 980) for topic in topics}
        self.limit = sorted(self.totals.values())[len(topics) // 2] - random.randrange(1, 9)
        self.written: dict[str, str] = {}
        self.question = (
            "The folder inbox has reports. Read each of them once, in alphabetical order. Then "
            "write the sum of their totals to sum.txt, and after that move every report whose "
            f"total is above {self.limit} to the folder archive, in alphabetical order. Leave the "
            "others where they are. At the end, say the sum and how many reports were moved."
        )

    def tools(self) -> list[Callable[..., Any]]:
        """Return the tools of the world."""
        return [self.list_files, self.read_file, self.write_file, self.move_file]

    def list_files(self, folder: str) -> list[str]:
        """List the files of a folder."""
        return sorted(path for path in self.totals if path.startswith(f"{folder}/"))

    def read_file(self, path: str) -> str:
        """Read a file."""
        return f"total: {self.totals[path]}"

    def write_file(self, path: str, text: str) -> str:
        """Write a text to a file."""
        self.written[path] = text
        return f"wrote {path}"

    def move_file(self, path: str, folder: str) -> str:
        """Move a file to a folder."""
        moved = f"{folder}/{path.rpartition('/')[2]}"
        self.totals[moved] = self.totals.pop(path)
        return f"moved {path} to {moved}"

    def work(self, agent: Agent) -> None:
        """Let an agent do the task."""
        found = agent.call("I look into the inbox.", self.list_files, folder="inbox")
        seen = {}
        for path in found:
            text = agent.call("I read the next report.", self.read_file, path=path)
            seen[path] = int(text.partition(": ")[2])
        total = sum(seen.values())
        off = [total + by for by in (-10, -1, 1, 10, 100)]
        left_out = [total - value for value in seen.values()]
        said = agent.decide("wrong_sum", total, [*off, *left_out])
        agent.call("I write the sum.", self.write_file, path="sum.txt", text=str(said))
        moved = 0
        for place, path in enumerate(found):
            above = seen[path] > self.limit
            if not above and agent.decide("condition", False, [True]):
                above = True
            elif above and place + 1 < len(found):
                rest = [other for other in found[place + 1 :] if seen[other] > self.limit]
                # To pass over a report is visible only if a later one is moved.
                above = agent.decide("dropped_case", True, [False]) if rest else True
            if above:
                why = "I move a report that is above the limit."
                agent.call(why, self.move_file, path=path, folder="archive")
                moved += 1
        count = agent.decide("wrong_report", moved, [moved + 1, max(0, moved - 1)])
        agent.say(f"The sum is {said}. Number of reports moved: {count}.")


class Calendar:
    """A week with events: book the earliest free time that is long enough."""

    def __init__(self, random: Random, size: int) -> None:
        self.hours = random.choice((1, 2, 2, 3))
        self.events: dict[str, list[list[Any]]] = {}
        free_day = min(len(DAYS) - 1, size // 3)
        for place, day in enumerate(DAYS):
            while True:
                self.events[day] = _events(random, 1 if place < free_day else 3)
                if bool(self._free(self.events[day])) is (place >= free_day):
                    break
        length = f"{self.hours} hour{'s' * (self.hours > 1)}"
        self.question = (
            f"Book a meeting of {length}, called team, in the earliest free time of the "
            f"week, between hour {FIRST_HOUR} and hour {LAST_HOUR}. Look at the days in order from "
            "Monday on, one at a time, and stop at the first day that has such a time. Meetings "
            "start at full hours and must not overlap with events. At the end, say the day and the "
            "hour of the start."
        )

    def tools(self) -> list[Callable[..., Any]]:
        """Return the tools of the world."""
        return [self.get_events, self.add_event]

    def get_events(self, day: str) -> list[list[Any]]:
        """Get the events of a day: start, end and title."""
        return self.events[day]

    def add_event(self, day: str, start: int, end: int, title: str) -> str:
        """Add an event to a day."""
        self.events[day] = sorted([*self.events[day], [start, end, title]])
        return f"added {title} on {day} from {start} to {end}"

    def _free(self, events: Sequence[Sequence[Any]]) -> list[int]:
        starts = range(FIRST_HOUR, LAST_HOUR - self.hours + 1)
        return [
            start
            for start in starts
            if all(start + self.hours <= begin or start >= end for begin, end, _ in events)
        ]

    def work(self, agent: Agent) -> None:
        """Let an agent do the task."""
        place = 0
        while True:
            day = DAYS[place]
            events = agent.call("I look at the next day.", self.get_events, day=day)
            free = self._free(events)
            last = place == len(DAYS) - 1
            if free and not last:
                free = agent.decide("missed_slot", free, [[]])
            if free:
                break
            place += 1
        taken = [hour for hour in range(FIRST_HOUR, LAST_HOUR - self.hours + 1) if hour not in free]
        start = agent.decide("overlap", free[0], taken) if taken else free[0]
        start = agent.decide("not_earliest", start, free[1:]) if start == free[0] else start
        hours = agent.decide("wrong_length", self.hours, [self.hours + 1, self.hours - 1 or 2])
        slot = {"day": day, "start": start, "end": start + hours, "title": "team"}
        agent.call("I book the meeting.", self.add_event, **slot)
        said = agent.decide("wrong_report", start, [start - 1, start + 1])
        agent.say(f"The meeting is on {day}, and it starts at hour {said}.")


def _events(random: Random, longest: int) -> list[list[Any]]:
    """Return the events of a day, with at most `longest` free hours between two of them."""
    events: list[list[Any]] = []
    hour = FIRST_HOUR
    while hour < LAST_HOUR:
        hour += random.randrange(longest + 1)
        if hour >= LAST_HOUR:
            break
        end = min(LAST_HOUR, hour + random.choice((1, 1, 2)))
        events.append([hour, end, random.choice(TITLES)])
        hour = end
    return events


class Shop:
    """Offers of several sellers: buy the cheapest, and use a coupon if the sum allows it."""

    def __init__(self, random: Random, size: int) -> None:
        self.wanted = {
            name: random.randrange(2, 6) for name in random.sample(GOODS, max(2, (size - 3) // 2))
        }
        self.offers = {
            name: {
                seller: {"price": price, "in_stock": stock}
                for seller, price, stock in zip(
                    random.sample(SELLERS, 3),
                    random.sample(range(12, 60), 3),
                    random.choice(((True, True, False), (False, True, True), (True, True, True))),
                    strict=True,
                )
            }
            for name in self.wanted
        }
        self.cart: list[list[Any]] = []
        self.percent = 0
        sums = sum(self._best(name)[1] * count for name, count in self.wanted.items())
        self.least = sums + random.choice((-1, 1)) * random.randrange(1, 30)
        listed = ", ".join(f"{name} ({count})" for name, count in self.wanted.items())
        self.question = (
            f"Buy these things in these quantities, in this order: {listed}. For each, look at the "
            "offers and put the cheapest one that is in stock into the cart. Then look at the "
            f"cart. If its sum is at least {self.least}, use the coupon TEN before you pay; "
            "otherwise pay without it. At the end, say what was paid."
        )

    def tools(self) -> list[Callable[..., Any]]:
        """Return the tools of the world."""
        return [self.get_offers, self.add_to_cart, self.get_cart, self.use_coupon, self.pay]

    def _best(self, name: str) -> tuple[str, int]:
        stocked = [(o["price"], s) for s, o in self.offers[name].items() if o["in_stock"]]
        price, seller = min(stocked)
        return seller, price

    def get_offers(self, product: str) -> dict[str, Any]:
        """Get the offers for a product, by seller."""
        return self.offers[product]

    def add_to_cart(self, product: str, seller: str, quantity: int) -> str:
        """Put an offer into the cart."""
        self.cart.append([product, seller, quantity, self.offers[product][seller]["price"]])
        return f"added {product} from {seller}, quantity {quantity}"

    def get_cart(self) -> dict[str, Any]:
        """Get the cart and its sum."""
        return {"items": self.cart, "sum": self._sum()}

    def _sum(self) -> int:
        return sum(quantity * price for _, _, quantity, price in self.cart)

    def use_coupon(self, code: str) -> str:
        """Use a coupon on the cart."""
        self.percent = 10
        return f"{code}: {self.percent}% off"

    def pay(self) -> dict[str, Any]:
        """Pay for the cart."""
        total = self._sum() * (100 - self.percent)
        return {"paid": total // 100 if total % 100 == 0 else total / 100}

    def work(self, agent: Agent) -> None:
        """Let an agent do the task."""
        for name, count in self.wanted.items():
            offers = agent.call("I look at the offers.", self.get_offers, product=name)
            best = min((o["price"], s) for s, o in offers.items() if o["in_stock"])[1]
            stocked = [s for s, o in offers.items() if o["in_stock"]]
            seller = agent.decide("not_cheapest", best, stocked)
            sold_out = [s for s, o in offers.items() if not o["in_stock"]]
            if seller == best and sold_out:
                seller = agent.decide("condition", best, sold_out)
            quantity = agent.decide("wrong_quantity", count, [count + 1, count - 1])
            offer = {"product": name, "seller": seller, "quantity": quantity}
            agent.call("I put the offer into the cart.", self.add_to_cart, **offer)
        cart = agent.call("I look at the cart.", self.get_cart)
        allowed = cart["sum"] >= self.least
        if agent.decide("wrong_coupon", allowed, [not allowed]):
            agent.call("I use the coupon.", self.use_coupon, code="TEN")
        paid = agent.call("I pay.", self.pay)["paid"]
        said = agent.decide(
            "wrong_report", paid, [round(paid + 1, 2), round(paid - 1, 2), cart["sum"]]
        )
        agent.say(f"I paid {said} in all.")


_MAKERS: dict[str, Callable[[Random, int], Files | Calendar | Shop]] = {
    "files": Files,
    "calendar": Calendar,
    "shop": Shop,
}


def trajectory(seed: int, index: int, correct_share: float = 0.5) -> dict[str, Any]:
    """Return the trajectory of one index, as a row with messages and the first wrong step."""
    world = WORLDS[index % len(WORLDS)]
    key = f"{VERSION}/worlds/{seed}/{index}"
    random = Random(key)  # noqa: S311 (not a secret)
    size = random.randrange(6, 13)
    made = random.getrandbits(64)
    agent = _run(world, made, size, None)
    wrong_at = random.randrange(len(agent.decisions))
    label, error_type = agent.decisions[wrong_at]
    start = Random(f"{VERSION}/worlds/{seed}").random()  # noqa: S311 (not a secret)
    # In every world, rows with and without an error take turns.
    turn = index // len(WORLDS) + index % len(WORLDS)
    wrong = floor(start + (turn + 1) * correct_share) == floor(start + turn * correct_share)
    if wrong:
        agent = _run(world, made, size, wrong_at)
    state = _MAKERS[world](Random(made), size)  # noqa: S311 (not a secret)
    return {
        "id": f"worlds-{VERSION}-{seed}-{index:06}",
        "subset": world,
        "question": state.question,
        "tools": [_tool(tool) for tool in state.tools()],
        "messages": [{"role": "user", "content": state.question}, *agent.messages],
        "label": label if wrong else NO_ERROR,
        "error_type": error_type if wrong else None,
        "generator": f"misstep.generator {VERSION}",
    }


def trajectories(seed: int, n: int, correct_share: float = 0.5) -> Iterator[dict[str, Any]]:
    """Yield n trajectories. A larger n gives the same trajectories first."""
    count, start = check_count("n", n, 1), check_count("seed", seed, 0)
    return (trajectory(start, index, correct_share) for index in range(count))


def _run(world: str, made: int, size: int, wrong_at: int | None) -> Agent:
    state = _MAKERS[world](Random(made), size)  # noqa: S311 (not a secret)
    agent = Agent(Random(made + 1), wrong_at)  # noqa: S311 (not a secret)
    state.work(agent)
    return agent


def _tool(tool: Callable[..., Any]) -> dict[str, Any]:
    about = {"name": tool.__name__, "description": (tool.__doc__ or "").strip()}
    return {"type": "function", "function": about}
