"""Functions: components, render props and callbacks; and the calls that are understood."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headcount.compiler.element import UNKNOWN
from headcount.compiler.tsx.evaluate import evaluate, handles, not_understood, too_many
from headcount.compiler.tsx.expressions import field, parts
from headcount.compiler.tsx.factories import Call
from headcount.compiler.tsx.grammar import (
    CALL,
    COMMENT,
    ELSE,
    FIELD_ALTERNATIVE,
    FIELD_ARGUMENTS,
    FIELD_BODY,
    FIELD_CONDITION,
    FIELD_CONSEQUENCE,
    FIELD_FUNCTION,
    FIELD_NAME,
    FIELD_OBJECT,
    FIELD_PARAMETER,
    FIELD_PARAMETERS,
    FIELD_PATTERN,
    FIELD_PROPERTY,
    FIELD_VALUE,
    IF,
    MAX_CALLS,
    MEMBER,
    RETURN,
    SPREAD,
    STATEMENT_BLOCK,
    TEMPLATE_STRING,
    TOKEN_ASYNC,
)
from headcount.compiler.tsx.methods import call_method
from headcount.compiler.tsx.module import bind_statement
from headcount.compiler.tsx.property_access import SKIPPED, bind, chained, member, skips, unskipped
from headcount.compiler.tsx.values import (
    MISSING,
    UNDEFINED,
    Children,
    Function,
    Native,
    Scope,
    describe,
    truthy,
)

if TYPE_CHECKING:
    from tree_sitter import Node

    from headcount.compiler.tsx.reader import Reader
    from headcount.compiler.tsx.values import Evaluated


@handles("arrow_function", "function_expression", "function_declaration")
def function(reader: Reader, node: Node, scope: Scope) -> Evaluated:
    name = node.child_by_field_id(FIELD_NAME)
    return Function(node, scope, scope.module.source.name(name) if name is not None else "")


@handles("call_expression")
def call_expression(reader: Reader, node: Node, scope: Scope) -> Evaluated:
    return unskipped(call_chain(reader, node, scope))


def call_chain(reader: Reader, node: Node, scope: Scope) -> Evaluated:
    """A chain `a.task(…).task(…)` is walked, not recursed into: pipelines are long."""
    chain: list[tuple[Node, Node]] = []
    innermost = node
    while True:
        callee = field(innermost, FIELD_FUNCTION)
        if callee.kind_id != MEMBER:
            break
        chain.append((innermost, callee))
        innermost = field(callee, FIELD_OBJECT)
        if innermost.kind_id != CALL:
            break
    if innermost.kind_id == CALL:
        value = _plain_call(reader, innermost, callee, scope)
    else:
        value = chained(reader, innermost, scope)
    for link, method in reversed(chain):
        if value is SKIPPED or skips(value, method):
            return SKIPPED
        value = _method_call(reader, value, link, method, scope)
    return value


def _plain_call(reader: Reader, node: Node, callee: Node, scope: Scope) -> Evaluated:
    target = chained(reader, callee, scope)
    if target is SKIPPED or skips(target, node):
        return SKIPPED
    return _call(reader, target, node, callee, scope)


def _method_call(reader: Reader, value: Evaluated, node: Node, callee: Node, scope: Scope) -> Evaluated:
    name = scope.module.source.name(field(callee, FIELD_PROPERTY))
    if value is UNKNOWN:
        return UNKNOWN
    if type(value) in (tuple, Children) or isinstance(value, str):
        return call_method(_arguments(reader, node, scope), value, name)
    method = getattr(value, "method", None)
    if method is not None:
        return method(name, _arguments(reader, node, scope))
    target = member(reader, value, name, callee, scope)
    return SKIPPED if skips(target, node) else _call(reader, target, node, callee, scope)


def _call(reader: Reader, target: Evaluated, node: Node, callee: Node, scope: Scope) -> Evaluated:
    if isinstance(target, Native):
        return target.call(_arguments(reader, node, scope))
    if isinstance(target, Function):
        return call_function(reader, target, _arguments(reader, node, scope).arguments, node, scope)
    if target is UNKNOWN:
        return UNKNOWN
    message = f"{describe(target).capitalize()} cannot be called"
    return reader.report.add(scope.module.source, callee, "not-understood", message, "Use the value itself.")


def _arguments(reader: Reader, node: Node, scope: Scope) -> Call:
    _count_call(reader, node, scope)
    arguments: list[Evaluated] = []
    nodes: list[Node] = []
    given = field(node, FIELD_ARGUMENTS)
    if given.kind_id == TEMPLATE_STRING:
        not_understood(reader, node, scope)
        return Call(reader, scope, node, [UNKNOWN], (given,))
    for child in given.named_children:
        if child.kind_id == SPREAD:
            value = evaluate(reader, parts(child)[0], scope)
            items = value if type(value) in (tuple, Children) else [not_understood(reader, child, scope)]
            arguments.extend(items)
            nodes.extend([child] * len(items))
        elif child.kind_id != COMMENT:
            arguments.append(evaluate(reader, child, scope))
            nodes.append(child)
    return Call(reader, scope, node, arguments, tuple(nodes))


def call_function(
    reader: Reader, function: Function, arguments: list[Evaluated], node: Node, scope: Scope
) -> Evaluated:
    """What the function returns for these arguments. Nothing but constants and a `return` runs."""
    _count_call(reader, node, scope)
    inner = Scope(function.scope.module, function.scope)
    if function.node.children[0].kind_id == TOKEN_ASYNC:
        return not_understood(reader, function.node, inner)
    for index, parameter in enumerate(parameters(function.node)):
        value = arguments[index] if index < len(arguments) else UNDEFINED
        _bind_parameter(reader, parameter, value, inner)
    body = field(function.node, FIELD_BODY)
    if body.kind_id == STATEMENT_BLOCK:
        return _run_block(reader, body, inner, function)
    return evaluate(reader, body, inner)


def _count_call(reader: Reader, node: Node, scope: Scope) -> None:
    reader.calls += 1
    if reader.calls > MAX_CALLS:
        raise too_many(reader, node, scope, "calls", MAX_CALLS)


def parameters(function: Node) -> list[Node]:
    """The parameters as written: a bare name, or patterns with types and defaults."""
    single = function.child_by_field_id(FIELD_PARAMETER)
    return [single] if single is not None else parts(field(function, FIELD_PARAMETERS))


def pattern_of(parameter: Node) -> Node:
    return parameter.child_by_field_id(FIELD_PATTERN) or parameter


def _bind_parameter(reader: Reader, parameter: Node, value: Evaluated, scope: Scope) -> None:
    default = parameter.child_by_field_id(FIELD_VALUE)
    if value is UNDEFINED and default is not None:
        value = evaluate(reader, default, scope)
    bind(reader, pattern_of(parameter), value, scope)


def _run_block(reader: Reader, block: Node, scope: Scope, function: Function) -> Evaluated:
    value = _returned(reader, parts(block), scope)
    if value is not MISSING:
        return value
    message = f"{function.name or 'This function'} returns nothing"
    hint = "Return an element, or null for none."
    return reader.report.add(scope.module.source, function.node, "not-understood", message, hint)


def _returned(reader: Reader, statements: list[Node], scope: Scope) -> Evaluated:
    """What the first `return` that is reached gives, or MISSING. Declarations hold for the whole block."""
    for statement in statements:
        if statement.kind_id not in (RETURN, IF):
            bind_statement(reader, statement, scope)
    for statement in statements:
        value: Evaluated = MISSING
        if statement.kind_id == RETURN:
            returned = parts(statement)
            value = evaluate(reader, returned[0], scope) if returned else UNDEFINED
        elif statement.kind_id == IF:
            value = _branch(reader, statement, scope)
        if value is not MISSING:
            return value
    return MISSING


def _branch(reader: Reader, statement: Node, scope: Scope) -> Evaluated:
    """What the chosen branch of an `if` returns; both branches may only declare and return."""
    condition = evaluate(reader, field(statement, FIELD_CONDITION), scope)
    if condition is UNKNOWN:
        return UNKNOWN
    branch = statement.child_by_field_id(FIELD_CONSEQUENCE if truthy(condition) else FIELD_ALTERNATIVE)
    if branch is not None and branch.kind_id == ELSE:
        branch = parts(branch)[0]
    if branch is None:
        return MISSING
    return _returned(
        reader, parts(branch) if branch.kind_id == STATEMENT_BLOCK else [branch], Scope(scope.module, scope)
    )
