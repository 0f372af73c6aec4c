"""Body elements, and what happens to white space."""

from __future__ import annotations

import pytest
from compiling import codes, markdown, python, tsx

BODIES = {
    "text next to a paragraph is kept": ("text<p>para</p>tail", "text\n\npara\n\ntail\n"),
    "white space in a paragraph is one space": (
        "<p>\n  one\n  <b>two</b>\n  <i>three</i>\n</p>",
        "one **two** *three*\n",
    ),
    "no space is made up inside a word": ("<p>un<b>believ</b>able</p>", "un**believ**able\n"),
    "white space moves out of emphasis": ("<p>a<b> b </b>c</p>", "a **b** c\n"),
    "a no-break space is content": ("<p>a&nbsp;&nbsp;b</p>", "a\u00a0\u00a0b\n"),
    "loose text of several lines is dedented": (
        "\n    First:\n      - a\n\n      - b\n    Last.\n  ",
        "First:\n  - a\n\n  - b\nLast.\n",
    ),
    "loose text keeps its lines around inline elements": (
        "\n    Check <code>x</code>\n    and <b>y</b>.\n  ",
        "Check `x`\nand **y**.\n",
    ),
    "a string keeps its white space": ("{'  a\\n    b'}", "  a\n    b\n"),
    "a template that starts with a line break is dedented": ("{`\n    a\n      b\n  `}", "a\n  b\n"),
    "strings on lines of their own stay apart": ("\n  {'a'}\n  {'b'}\n  {1}\n", "a\nb\n1\n"),
    "strings on one line are joined": ("{'a'}{'b'} {'c'}", "ab c\n"),
    "a string and an inline element on lines of their own": (
        "\n  {'a'}\n  <b>b</b>\n  {'c'}<i>d</i>\n",
        "a\n**b**\nc*d*\n",
    ),
    "strings on lines of a paragraph": ("<p>{'a'}\n  {'b'}</p>", "a b\n"),
    "a blank that the author wrote is enough": ("<p>a{' '}\n  {'b'} {'c '}\n{'d'}</p>", "a b c d\n"),
    "what gives nothing parts nothing": ("\n{'a'}\n{false}\n{/* c */}\n{'b'}\n{null}\n", "a\nb\n"),
    "a template of several lines and what follows it": ("{`a\nb`}{'c'}", "a\nbc\n"),
    "templates that start with a line break, one below the other": (
        "\n  {`\n    a\n      b\n  `}\n  {`\n    c\n  `}\n  {'d'}\n",
        "a\n  b\n\nc\n\nd\n",
    ),
    "a template that starts with a line break, between lines of text": (
        "\n  You are it.\n  {`\n    a\n      b\n  `}\n  Go.\n",
        "You are it.\n\na\n  b\n\nGo.\n",
    ),
    "a template that starts with a line break, within a line": ("\n  x {`\n    a\n`}\n", "x \n    a\n"),
    "a string before a block": ("\n  {`\n    a\n  `}\n  <p>b</p>\n  {'c'}\n", "a\n\nb\n\nc\n"),
    "strings in a code block": ("<pre>\n{'a'}\n{'b'}\n</pre>", "```\na\nb\n```\n"),
    "entities are decoded": ("<p>a &lt; b &amp; c</p>", "a < b & c\n"),
    "a line break": ("<p>a<br/>b</p>", "a\nb\n"),
    "an ordered list with a start": ("<ol start={4}><li>a</li><li>b</li></ol>", "4. a\n5. b\n"),
    "nested lists are two deeper": (
        "<ul><li>a<ol><li>b<ul><li>c</li></ul></li></ol></li></ul>",
        "- a\n  1. b\n    - c\n",
    ),
    "blocks in an item": ("<ul><li><p>a</p><p>b</p></li></ul>", "- a\n\n  b\n"),
    "a quote with a blank line": ("<blockquote><p>a</p><p>b</p></blockquote>", "> a\n>\n> b\n"),
    "code with a language": (
        '<pre><code className="language-ts">{`a\n  b`}</code></pre>',
        "```ts\na\n  b\n```\n",
    ),
    "code among blocks with a language": ('<code lang="sh">ls</code>', "```sh\nls\n```\n"),
    "a fence longer than what is inside": ("<pre>{'```\\nx\\n```'}</pre>", "````\n```\nx\n```\n````\n"),
    "inline code with a backtick": ("<p><code>{'a`b'}</code></p>", "`` a`b ``\n"),
    "a link with a space": ('<p><a href="a b">x</a></p>', "[x](<a b>)\n"),
    "a rule": ("<hr/>", "---\n"),
    "raw Markdown": ("<Markdown>{'# raw\\n\\n* x'}</Markdown>", "# raw\n\n* x\n"),
    "a table without headers": (
        "<Table rows={[['a', 1], [null]]} />",
        "|  |  |\n| :--- | :--- |\n| a | 1 |\n|  |  |\n",
    ),
    "line breaks in a cell": ("<Table headers={['h']} rows={[['a\\nb']]} />", "| h |\n| :--- |\n| a b |\n"),
    "an aligned table": (
        "<Table headers={['a','b']} align={['center','right']} rows={[]} />",
        "| a | b |\n| :---: | ---: |\n",
    ),
    "a block of XML": ('<XmlBlock name="x"><p>a</p><p>b</p></XmlBlock>', "<x>\na\n\nb\n</x>\n"),
    "a heading is one line": ("<h2>a\n  b</h2>", "## a b\n"),
}


@pytest.mark.parametrize("claim", BODIES)
def test_body(claim: str) -> None:
    body, expected = BODIES[claim]
    assert markdown(tsx(body)) == expected


def test_headings_go_one_level_down_in_a_workflow_but_not_lines_of_text() -> None:
    body = (
        '<Workflow name="w" team={C}><h1>a</h1><h6>b</h6><pre>{"## kept"}</pre>'
        "<TaskDef task={defineTask('t')} prompt={'## also kept'} /><Markdown>{'## raw'}</Markdown></Workflow>"
    )
    assert markdown(tsx(body)) == (
        "## Workflow: w\n\n---\n\n## a\n\n---\n\n###### b\n\n---\n\n```\n## kept\n```\n\n---\n\n"
        '```javascript\nTaskCreate({ subject: "t", description: "## also kept" })\n```\n\n---\n\n## raw\n'
    )


def test_a_workflow_in_a_workflow_goes_deeper_still() -> None:
    body = '<Workflow name="a" team={C}><Workflow name="b" team={C}><h2>x</h2></Workflow></Workflow>'
    assert markdown(tsx(body)) == "## Workflow: a\n\n---\n\n### Workflow: b\n\n---\n\n#### x\n"


def test_python_children_are_what_jsx_children_are() -> None:
    compiled = python("""
        doc = Command(name="x", description="y")[
            None, False, True, p["a", 1, None, [" ", b["c"]]], (li_text for li_text in ()), hr, [[h2["t"]]],
        ]
    """)
    assert markdown(compiled) == "a1 **c**\n\n---\n\n## t\n"


def test_prompt_vars_fill_the_text_once() -> None:
    compiled = python("""
        doc = Command(name="x", description="y")[TaskDef(task=define_task("t"))[
            Prompt(vars={"who": "{{what}}", "what": "$1"})["Hello {{who}} {{ what }}"]]]
    """)
    assert 'description: "Hello {{what}} $1"' in markdown(compiled)


def test_braces_without_vars_are_text() -> None:
    compiled = tsx("<TaskDef task={defineTask('t')}><Prompt>{'{{x}}'}</Prompt></TaskDef>")
    assert 'description: "{{x}}"' in markdown(compiled)


def test_element_that_the_language_does_not_have_is_an_error() -> None:
    assert codes(tsx("<span>x</span>")) == ["unknown-element"]
