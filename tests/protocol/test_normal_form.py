"""Two teams that the explorer takes for one behave alike, whatever comes."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import permutations

import pytest

from headcount.protocol.events import Event, StandDown
from headcount.protocol.team import Team
from headcount.protocol.team_step import step_team
from tests.support.normal import Forms
from tests.support.onlooker import Seen, Step, remember
from tests.support.possible import Choices, possible, strange
from tests.support.variants import POLICY, VARIANTS, Variant, first_team

EVERYTHING = Choices(reviews=True, pause=True, witness_judges=True, limits=True, cycle=True)
FREE = Variant("free", "", EVERYTHING, ("worker", "lead"), replace(POLICY, budget_tokens=1))


def take(team: Team, seen: dict[str, Seen], event: Event, variant: Variant) -> tuple[Team, dict[str, Seen]]:
    if isinstance(event, StandDown):  # every request has an id of its own
        event = replace(event, request_id=f"r{random.getrandbits(64)}")
    after, ready = step_team(team, event, variant.policy)
    return after, remember(seen, Step(team, event, after, ready))


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("variant", [*VARIANTS, FREE], ids=lambda v: v.name)
def test_what_a_normal_form_drops_decides_nothing(variant: Variant, seed: int) -> None:
    """A walk with everything that a team remembers, beside the normal form of each of its states."""
    rng, forms = random.Random(seed), Forms(ordered=False)
    team, seen = first_team(variant), dict[str, Seen]()
    for _ in range(60):
        form = forms.of(team, seen)
        plain, facts = forms.build(team, seen, form)
        assert forms.of(plain, facts) == form, "the form of a normal form is itself"
        real, drawn = (list(possible(t, variant.policy, variant.choices)) for t in (team, plain))
        assert [type(e) for e in real] == [type(e) for e in drawn]
        if not real:
            break
        for one, other in zip(real, drawn, strict=True):
            after, beside = take(team, seen, one, variant), take(plain, facts, other, variant)
            assert forms.of(*after).key == forms.of(*beside).key, one
        for event in strange(team):
            assert step_team(team, event, variant.policy)[0] == team, event
        team, seen = take(team, seen, rng.choice(real), variant)


@pytest.mark.parametrize("seed", range(4))
def test_members_that_change_names_make_the_same_form(seed: int) -> None:
    rng, forms, variant = random.Random(seed), Forms(), VARIANTS[0]
    team, seen = first_team(variant), dict[str, Seen]()
    for _ in range(50):
        events = list(possible(team, variant.policy, variant.choices))
        if not events:
            break
        team, seen = take(team, seen, rng.choice(events), variant)
        form = forms.of(team, seen)
        for order in permutations(form.order):
            assert forms.of(*forms.build(team, seen, form._replace(order=order))).key == form.key
