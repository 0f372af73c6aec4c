"""The state directory, opened: its store, its settings, and who calls. Every use case begins here.

Commands that only read pay for the store alone: the rules and the settings are imported when first used.
"""

from __future__ import annotations

import os
from contextlib import contextmanager

from headcount.app.caller import identify
from headcount.app.database_choice import choose_database
from headcount.app.home import find_checkout, find_home, make_home
from headcount.app.lock import refuse_suspended
from headcount.app.place import check_own
from headcount.app.session import Session, unknown_team
from headcount.app.settings_file import check_owner, find_settings, read_settings
from headcount.store import open_store, passing_store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from headcount.app.caller import Caller
    from headcount.domain.policy import Limits, Policy
    from headcount.domain.settings import Settings
    from headcount.engine.apply import Applied
    from headcount.ports import Store, Tx
    from headcount.protocol.events import Event
    from headcount.protocol.member import Member
    from headcount.protocol.phase_events import PhaseEvent
    from headcount.protocol.team import Team


class App(Session):
    def __init__(
        self,
        home: str,
        store: Store,
        settings: Settings | None,
        caller: Caller,
        checkout: str = "",
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        """`settings` None: read them when they are first needed."""
        super().__init__(home, store, caller)
        # Where the user stands: the repository's main checkout, or a linked worktree of the user's.
        self.checkout = checkout or os.path.dirname(home)
        self._settings = settings
        self._environ = environ

    @property
    def settings(self) -> Settings:
        """Return `headcount.toml` and the environment as one value, as they were at the first use."""
        return self.read_settings()

    @settings.setter
    def settings(self, settings: Settings) -> None:
        self._settings = settings

    def read_settings(self) -> Settings:
        if self._settings is None:
            self._settings = read_settings(find_settings(self.checkout), self._environ)
        return self._settings

    @property
    def limits(self) -> Limits:
        return self.settings.limits

    @property
    def root(self) -> str:
        """The directory that holds the state directory: the repository, where there is one."""
        return os.path.dirname(self.home)

    def load(self, tx: Tx, name: str) -> Team:
        team = tx.load_team(name)
        if team is None:
            raise unknown_team(tx, name)
        return team

    # --- stepping ---------------------------------------------------------------------------------------

    def apply(self, name: str, *events: Event | PhaseEvent) -> Applied:
        """Commit the consequences of `events`, then wake the processes concerned.

        The same transaction decides whether they are allowed: see `refused` of the result.
        """
        from headcount.engine.apply import apply

        with self.turn(name) as (tx, team, policy):
            applied = apply(tx, team, events, policy, self.make_start)
        self.ring(applied)
        return applied

    def make_start(self, team: Team, member: Member, plan: Mapping[str, Any]) -> Mapping[str, Any]:
        """For whom a run starts by itself."""
        from headcount.app.member_start import make_start

        return make_start(self.home, self.settings, team, member, plan)

    @contextmanager
    def turn(self, name: str) -> Iterator[tuple[Tx, Team, Policy]]:
        """One write transaction on one team, for use cases that must look before they step."""
        if not self.caller.is_member:  # whose word is kept, if it can be
            refuse_suspended(self.home)  # which may hold the store, too
        with self.store.write(team=name) as tx:
            team = self.load(tx, name)
            yield tx, team, policy_of(tx.team_settings(team.id))

    def ring(self, applied: Applied) -> None:
        self.store.ring(applied.channels)


def open_app(
    start: str | None = None,
    environ: Mapping[str, str] | None = None,
    *,
    make: bool = True,
    placed: bool = True,
    action: str = "",
) -> App:
    """Open the state directory that belongs to `start` (the working directory), made on first use.

    Who only looks needs none (`make` false): it sees that nothing is there, and leaves nothing behind.
    `placed` is false only for the command that takes over a directory from elsewhere. `action` is for the
    journal, if the caller is refused.
    """
    environ = os.environ if environ is None else environ
    start = start or os.getcwd()
    home = find_home(start, environ)
    if make or os.path.isdir(home):
        make_home(home) if placed else check_own(home)
    checkout = find_checkout(start, home)
    settings = find_settings(checkout)
    if settings is not None:
        check_owner(settings)  # also where a command needs no setting
    if os.path.isdir(home):
        choose_database(home, settings, environ)
        store = open_store(home)
    else:
        store = passing_store(home)
    return App(home, store, None, identify(store, environ, home, action), checkout, environ)


def policy_of(settings: Mapping[str, Any]) -> Policy:
    """A team keeps the numbers that it was started with."""
    from headcount.domain.policy import Policy

    numbers: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value
        for key, value in settings.get("policy", {}).items()
    }
    return Policy(**numbers)
