"""Evaluates Python expressions over results, for conditions and checks: `outputs["load"]["rows"] > 0`.

Allowed are the given names, constants, subscripts, comparisons, boolean and arithmetic operators, and a few harmless
functions. Anything else is refused, because plans come from models.
"""

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any

from surefoot.errors import PlanError

NAMES = ("outputs", "status")
"""The names that a condition of a step can use: the results of earlier steps, and how they ended."""
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "len": len, "sum": sum, "min": min, "max": max, "any": any, "all": all, "sorted": sorted,
    "str": str, "int": int, "float": float, "bool": bool, "abs": abs, "round": round,
}  # fmt: skip

_OPERATORS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le,
    ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Is: operator.is_, ast.IsNot: operator.is_not,
    ast.In: lambda a, b: a in b, ast.NotIn: lambda a, b: a not in b,
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Div: operator.truediv, ast.Mod: lambda a, b: _number(a) % b,
    ast.Not: operator.not_, ast.USub: operator.neg,
}  # fmt: skip


def evaluate(expression: str, names: Mapping[str, Any]) -> Any:
    try:
        tree = ast.parse(expression.strip(), mode="eval")
    except (SyntaxError, ValueError) as error:
        raise PlanError(f"not an expression: {expression!r} ({error})", remedy="use a Python expression") from None
    return _value(tree.body, names)


def problem_with(condition: str) -> str:
    """Return why a condition of a plan can never be evaluated; empty if it can be."""
    if not condition.strip():
        return ""
    try:
        tree = ast.parse(condition.strip(), mode="eval")
    except (SyntaxError, ValueError) as error:
        return f"{condition!r} is no Python expression ({error})"
    functions = {node.func for node in ast.walk(tree) if isinstance(node, ast.Call)}
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) if name not in NAMES and not (node in functions and name in _FUNCTIONS):
                return f"{condition!r}: unknown name {name!r}; known: {', '.join(NAMES)}"
            case ast.Attribute() if node not in functions or node.attr != "get":
                return f"{condition!r}: {ast.unparse(node)!r} is not allowed"
            case ast.Lambda() | ast.ListComp() | ast.GeneratorExp() | ast.DictComp() | ast.SetComp() | ast.NamedExpr():
                return f"{condition!r}: compare values; do not call code"
    return ""


def steps_in(condition: str) -> list[str]:
    """Return the steps that a condition names: `outputs["load"]`, `status.get("load")`."""
    try:
        tree = ast.parse(condition.strip(), mode="eval")
    except (SyntaxError, ValueError):
        return []
    step_ids = []
    for node in ast.walk(tree):
        match node:
            case (
                ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=str() as step_id))
                | ast.Call(
                    func=ast.Attribute(value=ast.Name(id=name), attr="get"),
                    args=[ast.Constant(value=str() as step_id), *_],
                )
            ) if name in NAMES:
                step_ids.append(step_id)
    return step_ids


def _value(node: ast.expr, names: Mapping[str, Any]) -> Any:
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name) if name in names:
            return names[name]
        case ast.Name(id=name):
            raise PlanError(f"unknown name {name!r}", remedy=f"known names: {', '.join(names)}")
        case ast.Subscript(value=value, slice=index):
            return _value(value, names)[_value(index, names)]
        case ast.Tuple(elts=items) | ast.List(elts=items):
            return [_value(item, names) for item in items]
        case ast.BoolOp(op=ast.And(), values=values):
            return all(_value(v, names) for v in values)
        case ast.BoolOp(values=values):
            return any(_value(v, names) for v in values)
        case ast.UnaryOp(op=op, operand=operand) if type(op) in _OPERATORS:
            return _OPERATORS[type(op)](_value(operand, names))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            return _OPERATORS[type(op)](_value(left, names), _value(right, names))
        case ast.Compare():
            return _compare(node, names)
        case ast.Call(keywords=[]):
            return _call(node, names)
    raise _refused(node)


def _call(node: ast.Call, names: Mapping[str, Any]) -> Any:
    arguments = [_value(argument, names) for argument in node.args]
    match node.func:
        case ast.Name(id=name) if name in _FUNCTIONS:
            return _FUNCTIONS[name](*arguments)
        case ast.Attribute(value=value, attr="get"):
            return _get(_value(value, names), arguments)
    raise _refused(node)


def _number(value: Any) -> Any:
    """Refuse text before `%`: `"%999999999d" % 1` would fill the memory."""
    if not isinstance(value, int | float):
        raise PlanError(f"{value!r} is not a number", remedy="use % between numbers")
    return value


def _refused(node: ast.expr) -> PlanError:
    return PlanError(
        f"{ast.unparse(node)!r} is not allowed in an expression", remedy="compare values; do not call code"
    )


def _compare(node: ast.Compare, names: Mapping[str, Any]) -> bool:
    left = _value(node.left, names)
    for op, comparator in zip(node.ops, node.comparators, strict=True):
        right = _value(comparator, names)
        if not _OPERATORS[type(op)](left, right):
            return False
        left = right
    return True


def _get(mapping: Any, arguments: list[Any]) -> Any:
    if not isinstance(mapping, Mapping):
        raise PlanError("`.get` is only for mappings")
    return mapping.get(*arguments)
