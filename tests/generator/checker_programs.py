"""Families of spreadsheets and programs: their rules, and what steps state about lists."""

import ast
import re

from tests.generator.checker_numbers import Rules, Statement, read_number


def spreadsheets(problem):
    large, factor, small = re.search(r"\(1 (\w+) is (\d+) (\w+)\)", problem).groups()
    given, rules = {}, {}
    for name, amount, unit in re.findall(r"^(A\d+): (\d+) (\w+)$", problem, re.M):
        given[name] = int(amount) * {large: int(factor), small: 1}[unit]

    def key(name):
        return name if name in given else f"cell {name} in {small}".lower()

    for name, code, unit in re.findall(r"^(B\d+): = (.*), in (\w+)$", problem, re.M):
        assert unit == small
        if found := re.fullmatch(r"SUM\(A(\d+):A(\d+)\)", code):
            cells = [f"A{n}" for n in range(int(found[1]), int(found[2]) + 1)]
            rules[key(name)] = lambda get, cells=cells: sum(map(get, cells))
        elif found := re.fullmatch(r"(\w+) × (\d+)", code):
            rules[key(name)] = lambda get, c=found[1], by=int(found[2]): get(key(c)) * by
        else:
            a, sign, b = re.fullmatch(r"(\w+) ([+-]) (\w+)", code).groups()
            by = 1 if sign == "+" else -1
            rules[key(name)] = lambda get, a=a, b=b, by=by: get(key(a)) + by * get(key(b))
    return Rules(given, rules, key(re.search(r"What is (B\d+),", problem)[1]))


def code_traces(problem):
    """The program is run by an interpreter of our own: what each assignment depends on is known."""
    code = re.search(r"program:\n(.*)\nWhat is", problem, re.S)[1]
    given, rules, names = {}, {}, {}
    functions = {}

    def assign(name, value, names):
        names = dict(names)
        return lambda get: _python(value, lambda variable: get(names[variable]), functions)

    def execute(body, when):
        for line in body:
            if isinstance(line, ast.FunctionDef):
                functions[line.name] = line
            elif isinstance(line, ast.For):
                for number in range(*(each.value for each in line.iter.args)):
                    names["i"] = given_name = f"i = {number}"
                    given[given_name] = number
                    execute(line.body, f"in the pass with i = {number}")
                when = "after the loop"
            elif isinstance(line, ast.If):
                [yes], [no] = line.body, line.orelse
                assert yes.targets[0].id == no.targets[0].id
                choice = ast.IfExp(line.test, yes.value, no.value)
                state(yes.targets[0].id, choice, when)
            else:
                state(line.targets[0].id, line.value, when)

    def state(target, value, when):
        name = f"{target} {when}".strip()
        if when:
            rules[name] = assign(name, value, names)
        else:
            given[f"{target} at first"] = value.value
            name = f"{target} at first"
        names[target] = name

    execute(ast.parse(code).body, "")
    return Rules(given, rules, "result after the loop")


def _python(node, get, functions):
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        return int(get(node.id))
    if isinstance(node, ast.IfExp):
        [right] = node.test.comparators
        assert isinstance(node.test.ops[0], ast.Gt)
        left, right = (_python(side, get, functions) for side in (node.test.left, right))
        return _python(node.body if left > right else node.orelse, get, functions)
    if isinstance(node, ast.Call):
        given = [_python(argument, get, functions) for argument in node.args]
        if node.func.id == "max":
            return max(given)
        [value], [returned] = given, functions[node.func.id].body
        return _python(returned.value, lambda name: value, functions)
    left, right = (_python(side, get, functions) for side in (node.left, node.right))
    return {
        ast.Add: lambda: left + right,
        ast.Sub: lambda: left - right,
        ast.Mult: lambda: left * right,
        ast.Mod: lambda: left % right,
        ast.FloorDiv: lambda: left // right,
    }[type(node.op)]()


def programs(problem):
    given, rules, names = {}, {}, {}
    for number, line in re.findall(r"^(\d+): (.*)$", problem, re.M):
        if line.startswith("xs.append"):
            target, code = "xs", f"append {line[10]}"
        elif line == "xs.reverse()":
            target, code = "xs", "reverse"
        else:
            target, _, code = line.partition(" = ")
        name = f"{target} after line {number}"
        if re.fullmatch(r"\d+|\[[\d, ]+\]", code):
            given[name] = ast.literal_eval(code)
        else:
            now = dict(names)
            rules[name] = lambda get, c=code, now=now: _line(c, lambda v: get(now[v]))
        names[target] = name
    asked = names[re.search(r"What is (\w+) at the end", problem)[1]]
    lists, seen = {}, None
    for name in [*given, *rules]:
        lists[name] = seen
        if name.startswith("xs"):
            seen = name
    sums = set(re.findall(r"^(\d+): \w+ = sum\(xs\)$", problem, re.M))
    return Rules(given, rules, asked, about={"lists": lists, "sums": sums})


def _line(code, get):
    if code.startswith("append"):
        return [*get("xs"), get(code[-1])]
    if code == "reverse":
        return get("xs")[::-1]
    if found := re.fullmatch(r"(\w) \+ (\d+) if (\w) > (\w) else (\w) - (\d+)", code):
        target, by, left, right, *_ = found.groups()
        return get(target) + int(by) * (1 if get(left) > get(right) else -1)
    if found := re.fullmatch(r"([abc]) ([-+*]) (\d+)", code):
        left, right = get(found[1]), int(found[3])
        return {"+": left + right, "-": left - right, "*": left * right}[found[2]]
    if found := re.fullmatch(r"xs\[(\d+)\]", code):
        return get("xs")[int(found[1])]
    return {"sum(xs)": lambda: sum(get("xs")), "xs[1:]": lambda: get("xs")[1:]}[code]()


def read_program(text, rules):
    found = rules.names.search(text)
    if not found or found[0] not in rules.rules:
        return None
    name = found[0]
    shown = [ast.literal_eval(each) for each in re.findall(r"\[[^\]]*\]", text)]
    before = rules.about["lists"][name]
    if name.startswith("xs"):
        *shown, value = shown
        return Statement(name, value, lambda get: all(each == get(before) for each in shown))
    if shown:
        value = int(re.search(r"(-?\d+)\.$", text)[1])
        return Statement(name, value, lambda get: shown == [get(before)])
    statement = read_number(text, rules)
    if statement and name.rpartition(" ")[2] in rules.about["sums"]:
        terms = re.search(r"(\d+(?: \+ \d+)*) = ", text)[1]
        return statement._replace(
            holds=lambda get: (
                statement.holds(get) and sorted(terms.split(" + ")) == sorted(map(str, get(before)))
            )
        )
    return statement
