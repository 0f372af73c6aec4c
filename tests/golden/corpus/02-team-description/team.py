from headcount import Command, PluginAgentType, Team, Teammate, define_team, define_worker

security = define_worker("security", PluginAgentType.SecuritySentinel)
review = define_team("pr-review", [security])

doc = Command(name="team-description", description="Team with a description")[
    Team(team=review, description="Code review specialists")[
        Teammate(
            worker=security, description="Security audit", prompt="Review for security vulnerabilities."
        ),
    ],
]
