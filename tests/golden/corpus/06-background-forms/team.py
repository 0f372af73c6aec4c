from headcount import AgentType, Command, Team, Teammate, define_team, define_worker

w1, w2, w3, w4, w5, w6 = (define_worker(f"w{n}", AgentType.GeneralPurpose) for n in range(1, 7))
bg = define_team("bg")

doc = Command(name="background-forms", description="Every accepted spelling of background")[
    Team(team=bg)[
        Teammate(worker=w1, description="default", prompt="p"),
        Teammate(worker=w2, description="bare", prompt="p", background=None),
        Teammate(worker=w3, description="true", prompt="p", background=True),
        Teammate(worker=w4, description="false", prompt="p", background=False),
        Teammate(worker=w5, description="string true", prompt="p", background="true"),
        Teammate(worker=w6, description="string false", prompt="p", background="false"),
    ],
]
