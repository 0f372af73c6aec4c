from headcount import (
    Command,
    PluginAgentType,
    Prompt,
    Team,
    Teammate,
    a,
    b,
    blockquote,
    code,
    define_team,
    define_worker,
    h1,
    h2,
    hr,
    i,
    li,
    ol,
    p,
    ul,
)

security = define_worker("security", PluginAgentType.SecuritySentinel)
review = define_team("pr-review")

doc = Command(name="prompt-child-html", description="Prompt child with HTML elements")[
    Team(team=review, description="HTML prompt")[
        Teammate(worker=security, description="Security audit")[
            Prompt[
                h1["Security Review"],
                h2["Scope"],
                p[
                    "Check ",
                    b["everything"],
                    ", ",
                    i["carefully"],
                    ", with ",
                    code["grep"],
                    " and ",
                    a(href="https://owasp.org")["OWASP"],
                    ".",
                ],
                ul[
                    li["SQL injection"],
                    li["XSS", ul[li["stored"], li["reflected"]]],
                ],
                ol[li["First"], li["Second"]],
                blockquote[p["Trust no input."], p["Ever."]],
                hr,
                p["Send findings to team-lead."],
            ],
        ],
    ],
]
