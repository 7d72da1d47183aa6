"""Tests that carry a mark with a number, and the tables of pages that say what the numbers are."""

import ast
import re
from collections import Counter


def marked(sources, mark):
    """Number → the names of the tests that a mark of one keyword gives it."""
    found = {}
    for text in sources:
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                for number in _numbers(node, mark):
                    found.setdefault(number, set()).add(node.name)
    return found


def table(text):
    """Number → the names of the tests in the last cell of its row."""
    lines = re.findall(r"^\| (\d+) \|(.+)\|$", text, re.MULTILINE)
    assert max(Counter(number for number, _ in lines).values()) == 1
    return {
        int(number): set(re.findall(r"`(test_\w+)`", cells.rsplit("|", 1)[-1])) for number, cells in lines
    }


def _numbers(function, mark):
    for decorator in function.decorator_list:
        for node in ast.walk(decorator):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == f"pytest.mark.{mark}":
                yield ast.literal_eval(ast.unparse(node.keywords[0].value)) if node.keywords else None
