"""The tools of the bundled trajectories, and what their claims stand for. All are deterministic."""

import ast
import json
import operator
import re
import subprocess
import sys
from typing import Any

TOOLS = {
    "calculator": "Compute an arithmetic expression.",
    "convert": "Convert a value from one unit to another.",
    "search": "Return the document that fits a query best.",
    "python": "Run Python code and return what it prints.",
    "get_order": "Return an order of the shop.",
    "refund": "Refund an amount for an order.",
    "cancel": "Cancel an order.",
}
FACTORS = {
    ("pound", "kilogram"): 0.45359237,
    ("mile", "kilometre"): 1.609344,
    ("gallon", "litre"): 3.785411784,
}
OPERATORS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
}


def arithmetic(expression: str) -> float:
    """Return the value of an expression of numbers, `+ - * / //` and `round`."""

    def value(node: ast.expr) -> float:
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.BinOp):
            return OPERATORS[type(node.op)](value(node.left), value(node.right))
        assert ast.unparse(node).startswith("round("), ast.dump(node)
        return round(*map(value, node.args))

    return value(ast.parse(expression, mode="eval").body)


def run_code(code: str) -> str:
    """Return what a program prints, or the last line of its error."""
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True)
    return (done.stdout or done.stderr.strip().splitlines()[-1]).strip()


def words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower().replace("_", " ")))


def run_tool(name: str, arguments: dict[str, Any], world: dict[str, Any]) -> str:
    """Return the result of a tool call on the data of a trajectory."""
    if name == "calculator":
        return f"{arithmetic(arguments['expression']):.6g}"
    if name == "convert":
        return f"{arguments['value'] * FACTORS[arguments['unit'], arguments['to']]:.6g}"
    if name == "python":
        return run_code(arguments["code"])
    if name == "search":
        asked, documents = words(arguments["query"]), world["documents"]
        best = max(
            documents,
            # A word of the title counts more than all words of the text.
            key=lambda title: (len(asked & words(title)), len(asked & words(documents[title]))),
        )
        return f"{best.replace('_', ' ')}: {documents[best]}"
    order = world["orders"][arguments["order_id"]]
    if name == "get_order":
        return json.dumps(order)
    if name == "refund":
        return json.dumps({"refunded": arguments["amount"]})
    assert name == "cancel"
    return json.dumps({"cancelled": arguments["order_id"]})


def holds(says: str, meant: str, world: dict[str, Any]) -> bool:
    """Return whether a claim of a step is true."""
    kind, _, rest = meant.partition(":")
    if kind == "document":
        return says in world["documents"][rest]
    if kind == "python":
        return says == run_code(rest)
    if kind in ("world", "date"):
        found: Any = world
        for key in rest.split("."):
            found = found[key]
        return str(found) == says if kind == "world" else found >= says[:10]
    if says == meant:
        return True
    return abs(float(says) - arithmetic(meant)) < 1e-4
