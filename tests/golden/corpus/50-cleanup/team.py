from headcount import Cleanup, Command, define_team

crew = define_team("crew")

doc = Command(name="cleanup", description="Remove what a finished team left")[Cleanup(team=crew)]
