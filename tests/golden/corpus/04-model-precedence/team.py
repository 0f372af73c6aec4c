from headcount import AgentType, Command, Model, Team, Teammate, define_team, define_worker

none = define_worker("none", AgentType.Explore)
from_worker = define_worker("from-worker", AgentType.Explore, Model.Haiku)
enum_over = define_worker("enum-over", AgentType.Explore, Model.Haiku)
str_over = define_worker("str-over", AgentType.Explore, Model.Haiku)
expr_over = define_worker("expr-over", AgentType.Explore, Model.Haiku)
prop_only = define_worker("prop-only", AgentType.Explore)
free_form = define_worker("free-form", AgentType.Explore, "claude-3-7-sonnet")
models = define_team("models")

doc = Command(name="model-precedence", description="Model from worker, from prop, and override")[
    Team(team=models)[
        Teammate(worker=none, description="no model", prompt="p"),
        Teammate(worker=from_worker, description="worker model", prompt="p"),
        Teammate(worker=enum_over, description="enum override", prompt="p", model=Model.Opus),
        Teammate(worker=str_over, description="string override", prompt="p", model="sonnet"),
        Teammate(worker=expr_over, description="expression string override", prompt="p", model="opus"),
        Teammate(worker=prop_only, description="prop only", prompt="p", model=Model.Sonnet),
        Teammate(worker=free_form, description="free-form worker model", prompt="p"),
    ],
]
