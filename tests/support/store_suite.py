"""What every store must hold to. Run it on an adapter by giving it a `store` fixture:

    class TestMine(StoreSuite):
        @pytest.fixture
        def store(self): ...

The suite speaks only through the port, so it fits a store that is not ours.
"""

from __future__ import annotations

from tests.support.store_ask_claims import AskClaims
from tests.support.store_claims import (
    IdentityClaims,
    JournalClaims,
    LeaseClaims,
    TeamClaims,
    TransactionClaims,
    WakingClaims,
)
from tests.support.store_mail_claims import MailClaims
from tests.support.store_stage import add_members, close_team, mail, make_team
from tests.support.store_task_claims import TaskClaims

__all__ = ["StoreSuite", "add_members", "close_team", "mail", "make_team"]


class StoreSuite(
    TransactionClaims, TeamClaims, JournalClaims, MailClaims, AskClaims, TaskClaims, IdentityClaims,
    LeaseClaims, WakingClaims,
):  # fmt: skip
    """All of it. Subclass, and give a `store` fixture."""
