"""The tree-sitter grammar, and its node kinds by number.

Nodes are told apart by `kind_id`, an integer: comparing `node.type` would build a string for every visit.
"""

from __future__ import annotations

from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from typing import Final

import tree_sitter


def _load() -> tree_sitter.Language:
    """Load the grammar's extension without the package around it, whose imports take a tenth of a build."""
    package = PathFinder.find_spec("tree_sitter_typescript")
    places = None if package is None else package.submodule_search_locations
    binding = PathFinder.find_spec("tree_sitter_typescript._binding", places)
    if binding is None or binding.loader is None:
        raise ImportError("tree-sitter-typescript is not installed")
    module = module_from_spec(binding)
    binding.loader.exec_module(module)
    return tree_sitter.Language(module.language_tsx())


LANGUAGE = _load()
KIND_COUNT = LANGUAGE.node_kind_count


def kind(name: str) -> int:
    """The number of a named node kind; a name that the grammar does not have is a bug here."""
    number = LANGUAGE.id_for_node_kind(name, True)
    if number is None:
        raise LookupError(f"the TSX grammar has no node kind {name!r}")
    return number


def token(text: str) -> int:
    """The number of an anonymous token such as `default`."""
    number = LANGUAGE.id_for_node_kind(text, False)
    if number is None:
        raise LookupError(f"the TSX grammar has no token {text!r}")
    return number


def field(name: str) -> int:
    number = LANGUAGE.field_id_for_name(name)
    if number is None:
        raise LookupError(f"the TSX grammar has no field {name!r}")
    return number


COMMENT = kind("comment")
IDENTIFIER = kind("identifier")
STRING = kind("string")
TEMPLATE_STRING = kind("template_string")
TEMPLATE_SUBSTITUTION = kind("template_substitution")
TYPE_ARGUMENTS = kind("type_arguments")

JSX_ELEMENT = kind("jsx_element")
JSX_SELF_CLOSING = kind("jsx_self_closing_element")
JSX_OPENING = kind("jsx_opening_element")
JSX_CLOSING = kind("jsx_closing_element")
JSX_EXPRESSION = kind("jsx_expression")
JSX_ATTRIBUTE = kind("jsx_attribute")
JSX_TEXT = kind("jsx_text")
JSX_ENTITY = kind("html_character_reference")
SPREAD = kind("spread_element")

ARROW = kind("arrow_function")
FUNCTION = kind("function_declaration")
FUNCTION_EXPRESSION = kind("function_expression")
STATEMENT_BLOCK = kind("statement_block")
RETURN = kind("return_statement")
PARENTHESIZED = kind("parenthesized_expression")
AS_EXPRESSION = kind("as_expression")
SATISFIES = kind("satisfies_expression")
NON_NULL = kind("non_null_expression")

CALL = kind("call_expression")
MEMBER = kind("member_expression")
SUBSCRIPT = kind("subscript_expression")
BINARY = kind("binary_expression")
UNARY = kind("unary_expression")
TERNARY = kind("ternary_expression")
IF = kind("if_statement")
ELSE = kind("else_clause")
PAIR = kind("pair")
SHORTHAND = kind("shorthand_property_identifier")
COMPUTED_NAME = kind("computed_property_name")
NUMBER = kind("number")

LEXICAL = kind("lexical_declaration")
VARIABLE = kind("variable_declaration")
IMPORT = kind("import_statement")
IMPORT_CLAUSE = kind("import_clause")
NAMED_IMPORTS = kind("named_imports")
EXPORT = kind("export_statement")
EXPORT_CLAUSE = kind("export_clause")
NAMESPACE_EXPORT = kind("namespace_export")
ENUM = kind("enum_declaration")
ENUM_ASSIGNMENT = kind("enum_assignment")
EXPRESSION_STATEMENT = kind("expression_statement")
ASSIGNMENT = kind("assignment_expression")
AUGMENTED = kind("augmented_assignment_expression")
UPDATE = kind("update_expression")

OBJECT_PATTERN = kind("object_pattern")
ARRAY_PATTERN = kind("array_pattern")
ASSIGNMENT_PATTERN = kind("assignment_pattern")
OBJECT_ASSIGNMENT_PATTERN = kind("object_assignment_pattern")
PAIR_PATTERN = kind("pair_pattern")
REST_PATTERN = kind("rest_pattern")
SHORTHAND_PATTERN = kind("shorthand_property_identifier_pattern")

TOKEN_DEFAULT = token("default")
TOKEN_TYPE = token("type")
TOKEN_STAR = token("*")
TOKEN_COMMA = token(",")
TOKEN_ASYNC = token("async")

FIELD_NAME = field("name")
FIELD_VALUE = field("value")
FIELD_SOURCE = field("source")
FIELD_DECLARATION = field("declaration")
FIELD_FUNCTION = field("function")
FIELD_ARGUMENTS = field("arguments")
FIELD_OBJECT = field("object")
FIELD_PROPERTY = field("property")
FIELD_INDEX = field("index")
FIELD_BODY = field("body")
FIELD_PARAMETER = field("parameter")
FIELD_PARAMETERS = field("parameters")
FIELD_PATTERN = field("pattern")
FIELD_LEFT = field("left")
FIELD_RIGHT = field("right")
FIELD_OPERATOR = field("operator")
FIELD_ARGUMENT = field("argument")
FIELD_KEY = field("key")
FIELD_ALIAS = field("alias")
FIELD_CONDITION = field("condition")
FIELD_CONSEQUENCE = field("consequence")
FIELD_ALTERNATIVE = field("alternative")
FIELD_OPTIONAL_CHAIN = field("optional_chain")

# Declarations that only the type checker reads.
TYPES_ONLY = frozenset(
    kind(name)
    for name in (
        "type_alias_declaration",
        "interface_declaration",
        "ambient_declaration",
        "function_signature",
        "comment",
        "hash_bang_line",
    )
)
FUNCTIONS = frozenset((ARROW, FUNCTION, FUNCTION_EXPRESSION))
WRAPPERS = frozenset((PARENTHESIZED, AS_EXPRESSION, SATISFIES, NON_NULL))
# Expressions whose first part decides what they are about.
LEADING = WRAPPERS | {
    CALL,
    MEMBER,
    SUBSCRIPT,
    BINARY,
    TERNARY,
    kind("new_expression"),
    kind("await_expression"),
}
ELEMENTS = frozenset((JSX_ELEMENT, JSX_SELF_CLOSING))
TEXTS = frozenset((JSX_TEXT, JSX_ENTITY))


# --- limits ----------------------------------------------------------------------------------------------
#
# What ends a reading, whatever is in the file. None of it is near what a definition needs: a team has at
# most a thousand members and a thousand tasks.


# With a thousand members and a thousand tasks a file has 400 kB. Together with what follows, the limit keeps
# the slowest of 350 hostile inputs within 5 seconds and 700 MB; `app/bounded_compile.py` limits the sum.
MAX_BYTES: Final = 500_000
# Each level takes up to four Python frames, of a thousand; definitions have a dozen levels.
MAX_DEPTH: Final = 150
MAX_ELEMENTS: Final = 20_000
MAX_ITEMS: Final = 20_000
MAX_CALLS: Final = 20_000
MAX_VALUES: Final = 100_000
MAX_CHARACTERS: Final = 2_000_000
# Nobody reads further, and a mistake in a large file's first lines may be in all of them.
MAX_DIAGNOSTICS: Final = 500
# After so many syntax errors the rest follows from the first ones.
MAX_SYNTAX_ERRORS: Final = 50
# A definition of a few hundred lines is smaller, and is parsed in any case within a quarter of a second.
LARGE: Final = 64_000
