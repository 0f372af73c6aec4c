"""One caller at one state directory: which team it means, what it may do, and the record of refusals.

Every use case takes a session. Members' commands make one with `open_session`; the operator's commands, the
MCP server and the page have an `App`, which is a session with settings and adapters.

On the path of every member command: imports next to nothing.
"""

from __future__ import annotations

import os

from headcount.app.caller import identify
from headcount.domain.names import check_team_name, show
from headcount.errors import HeadcountError, NotAllowed, UsageError
from headcount.protocol import authority

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from headcount.app.caller import Caller
    from headcount.domain.records import TeamCard
    from headcount.ports import Store, Tx


class Session:
    def __init__(self, home: str, store: Store, caller: Caller) -> None:
        self.home = home
        self.store = store
        self.caller = caller

    def close(self) -> None:
        self.store.close()

    # --- which team -------------------------------------------------------------------------------------

    def pick_team(self, name: str | None) -> str:
        """A member's own team, the named one, or the only one there is."""
        mine = self.caller.team_name
        if mine is not None:
            if name not in (None, "", mine):
                raise UsageError(
                    f"{show(name or '')} is not your team", f"you belong to {mine}", code="other-team"
                )
            return mine
        if name:
            return check_team_name(name)
        with self.store.read() as tx:
            names = tx.team_names()
        if len(names) == 1:
            return names[0]
        raise UsageError(
            "Which team?" if names else "There is no open team",
            f"{', '.join(names)} are open" if names else "none was started here, or all are closed",
            ("Name it with --team TEAM",) if names else ("Start one with `headcount up FILE`",),
            code="which-team" if names else "no-team",
        )

    def find_team(self, tx: Tx, name: str) -> TeamCard:
        """A member's own team by its id: its name may have been used again."""
        card = tx.team_card(self.caller.team or name)
        if card is None:
            raise unknown_team(tx, name)
        return card

    # --- what it may do ---------------------------------------------------------------------------------

    def check(self, action: str, team_id: str | None = None) -> None:
        """By the one table; a refusal is in the journal before it is answered (A14)."""
        try:
            authority.check(action, self.caller.kind, self.caller.who if self.caller.is_member else "")
        except NotAllowed as refusal:
            self.audit(action, refusal, team_id)
            raise

    def audit(self, action: str, refusal: HeadcountError, team: str | None = None) -> None:
        """Write a refusal to the journal of the team that it is about."""
        with self.store.read() as tx:
            card = tx.team_card(self.caller.team or team or "")
        if card is None:
            return
        data = {"action": action, "code": refusal.code, "why": refusal.why}
        with self.store.write(team=card.name) as tx:
            tx.add_entry(card.id, "refused", self.caller.who, data)

    def write(self, action: str, team: str | None, *, appends: bool = False) -> Action:
        """Check and change in one transaction: `with session.write(action, team) as (tx, card)`.

        One that only adds inputs, acts and mail (`appends`) does not wait for others that do.
        """
        return Action(self, action, team, appends)


class Action:
    """One action of a caller on one team: allowed by the table, and whole or not at all.

    A refusal inside rolls the transaction back. The journal records it nevertheless (A11, A14).
    """

    def __init__(self, session: Session, action: str, team: str | None, appends: bool = False) -> None:
        self._session = session
        self._action = action
        self._team = team
        self._appends = appends

    def __enter__(self) -> tuple[Tx, TeamCard]:
        session = self._session
        self._name = session.pick_team(self._team)
        session.check(self._action, self._name)
        store = session.store
        self._transaction = store.append(team=self._name) if self._appends else store.write(team=self._name)
        tx = self._transaction.__enter__()
        try:
            return tx, session.find_team(tx, self._name)
        except BaseException as error:
            self._transaction.__exit__(type(error), error, error.__traceback__)
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: object
    ) -> None:
        self._transaction.__exit__(kind, error, traceback)  # type: ignore[arg-type]
        if isinstance(error, HeadcountError) and _is_audited(error):
            self._session.audit(self._action, error, self._name)


def _is_audited(error: HeadcountError) -> bool:
    """What the authority table refused (A14), and an answer to a request that was never made (A11)."""
    return isinstance(error, NotAllowed) or error.code in ("unknown-request", "nothing-to-answer")


def unknown_team(tx: Tx, name: str) -> UsageError:
    from difflib import get_close_matches

    names = tx.team_names()
    closed = sorted(set(tx.team_names(closed=True)) - set(names))
    close = get_close_matches(name, [*names, *closed], n=1)
    meant = (f'Did you mean "{close[0]}"?',) if close else ()
    listed = f"Open teams: {_some(names)}. Closed ones: {_some(closed)}"
    return UsageError(f"No team is called {show(name)}", "", (*meant, listed), code="unknown-team")


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:12]) + (", …" if len(names) > 12 else "") if names else "none"


def find_state(environ: Mapping[str, str]) -> str:
    """The state directory of a member's environment, or of the working directory."""
    home = environ.get("HEADCOUNT_HOME")
    if home:
        return os.path.abspath(home)
    from headcount.app.home import find_home
    from headcount.app.place import check_place

    home = find_home(os.getcwd(), environ)
    if os.path.isdir(home):
        check_place(home)
    return home


def open_session(home: str, environ: Mapping[str, str], action: str) -> Session:
    """The session of a command that needs neither settings nor adapters, on a state that exists."""
    from headcount.store import open_store

    store = open_store(home, make=False)
    try:
        return Session(home, store, identify(store, environ, home, action))
    except BaseException:
        store.close()
        raise


def check_here(home: str, environ: Mapping[str, str], action: str) -> None:
    """Check an action of a command that opens no state."""
    from headcount.store import is_made, open_store, passing_store

    store = open_store(home) if is_made(home) else passing_store(home)
    try:
        Session(home, store, identify(store, environ, home, action)).check(action)
    finally:
        store.close()
