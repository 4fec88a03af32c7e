"""Counts `Any` in the signatures that users see; run it with `python -m tests.typing.any_in_signatures`.

A signature counts if its class or function is exported from `headrace`, `headrace.serdes` or `headrace.testing`, or is
a base of such a class, and its own name is public. Parameters, results and fields count; of an overloaded method, the
overloads count and the implementation does not, as in a type checker.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections import Counter

import headrace
import headrace.testing


def exported():
    modules = (headrace, headrace.serdes, headrace.testing)
    return {getattr(module, name) for module in modules for name in module.__all__ if _is_definition(module, name)}


def any_in_signatures():
    """How often `Any` is written in each public signature, by its qualified name."""
    found = Counter()
    definitions = {base for thing in exported() for base in (thing.__mro__ if inspect.isclass(thing) else (thing,))}
    for thing in sorted(definitions, key=lambda thing: thing.__qualname__):
        if thing.__module__.startswith("headrace"):
            (tree,) = ast.parse(textwrap.dedent(inspect.getsource(thing))).body
            members = tree.body if isinstance(tree, ast.ClassDef) else [tree]
            _count(members, f"{thing.__qualname__}." if isinstance(tree, ast.ClassDef) else "", found)
    return found


def _count(members, owner, found):
    overloaded = {member.name for member in members if isinstance(member, ast.FunctionDef) and _is_overload(member)}
    for member in members:
        if isinstance(member, ast.FunctionDef):
            if member.name.startswith("_") or (member.name in overloaded and not _is_overload(member)):
                continue
            named = [*member.args.posonlyargs, *member.args.args, *member.args.kwonlyargs]
            starred = [argument for argument in (member.args.vararg, member.args.kwarg) if argument]
            annotations = [*(argument.annotation for argument in (*named, *starred)), member.returns]
            found[owner + member.name] += sum(map(_anys, annotations))
        elif isinstance(member, ast.AnnAssign) and not member.target.id.startswith("_"):
            found[owner + member.target.id] += _anys(member.annotation)


def _anys(annotation):
    nodes = ast.walk(annotation) if annotation is not None else ()
    return sum(isinstance(node, ast.Name) and node.id == "Any" for node in nodes)


def _is_overload(function):
    return any(isinstance(decorator, ast.Name) and decorator.id == "overload" for decorator in function.decorator_list)


def _is_definition(module, name):
    return inspect.isclass(getattr(module, name)) or inspect.isfunction(getattr(module, name))


if __name__ == "__main__":
    counted = +any_in_signatures()
    for name, times in sorted(counted.items()):
        print(times, name)
    print(counted.total(), "in all")
