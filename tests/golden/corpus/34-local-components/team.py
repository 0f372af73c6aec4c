from headcount import AgentType, Command, Prompt, Team, Teammate, XmlBlock, define_team, define_worker, p

worker = define_worker("worker", AgentType.Bash)
crew = define_team("crew")


def rules(topic, *children):
    return XmlBlock(name="rules")[p["Rules for ", topic], children]


def the_team():
    return Team(team=crew, description="From a component")[
        Teammate(worker=worker, description="Work")[Prompt[rules("sql", p["No raw queries."])]],
    ]


doc = Command(name="local-components", description="Local components in the body and in a prompt")[
    rules("reviews", p["Be kind."]),
    the_team(),
]
