"""The first wrong step of an agent in a generated world, found again from the messages alone."""

import json
import re

DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday")


def first_wrong(row):
    """The first step that is not what the task asks for after what the tools have answered."""
    steps, results = [], []
    for message in row["messages"][1:]:
        if message["role"] == "tool":
            results.append(json.loads(message["content"]))
        elif calls := message.get("tool_calls"):
            [call] = (each["function"] for each in calls)
            steps.append((call["name"], json.loads(call["arguments"])))
        else:
            steps.append(("say", message["content"]))
    wanted = {"files": _files, "calendar": _calendar, "shop": _shop}[row["subset"]]
    for place, step in enumerate(steps):
        if step != wanted(row["question"], results[:place]):
            return place
    return -1


def _files(question, results):
    limit = int(re.search(r"above (\d+)", question)[1])
    if not results:
        return "list_files", {"folder": "inbox"}
    paths, *rest = results
    if len(rest) < len(paths):
        return "read_file", {"path": sorted(paths)[len(rest)]}
    totals = [int(text.removeprefix("total: ")) for text in rest[: len(paths)]]
    later = rest[len(paths) :]
    if not later:
        return "write_file", {"path": "sum.txt", "text": str(sum(totals))}
    moves = [path for path, total in zip(sorted(paths), totals, strict=True) if total > limit]
    done = len(later) - 1
    if done < len(moves):
        return "move_file", {"path": moves[done], "folder": "archive"}
    return "say", f"The sum is {sum(totals)}. Number of reports moved: {len(moves)}."


def _calendar(question, results):
    hours = int(re.search(r"meeting of (\d+) hours?\b", question)[1])
    for place, events in enumerate(results):
        if isinstance(events, str):
            continue
        taken = {hour for begin, end, _ in events for hour in range(begin, end)}
        free = [h for h in range(9, 18 - hours) if not taken & set(range(h, h + hours))]
        if free:
            slot = {"day": DAYS[place], "start": free[0], "end": free[0] + hours, "title": "team"}
            if place == len(results) - 1:
                return "add_event", slot
            return "say", f"The meeting is on {DAYS[place]}, and it starts at hour {free[0]}."
    return "get_events", {"day": DAYS[len(results)]}


def _shop(question, results):
    wanted = re.findall(r"(\w+) \((\d+)\)", question)
    least = int(re.search(r"at least (\d+)", question)[1])
    place, second = divmod(len(results), 2)
    if place < len(wanted):
        name, count = wanted[place]
        if not second:
            return "get_offers", {"product": name}
        offers = sorted((o["price"], s) for s, o in results[-1].items() if o["in_stock"])
        return "add_to_cart", {"product": name, "seller": offers[0][1], "quantity": int(count)}
    later = results[2 * len(wanted) :]
    if not later:
        return "get_cart", {}
    coupon = later[0]["sum"] >= least
    if len(later) == 1 and coupon:
        return "use_coupon", {"code": "TEN"}
    if len(later) == 1 + coupon:
        return "pay", {}
    return "say", f"I paid {later[-1]['paid']} in all."
