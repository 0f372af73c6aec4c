"""The observer of the campaign can fail: it reports every planted loss and every planted stray."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bench.campaign.bystanders import Bystanders
from bench.campaign.hunt import Listed, gather, lost, published, unrecorded
from bench.campaign.ledger import Ledger, blob_id, read, slots
from bench.campaign.plan import Kill, Mate, Plan, draw
from bench.campaign.processes import end_all, strays
from bench.campaign.snapshot import Snapshot, take
from bench.campaign.strays import STARTS, Post
from bench.campaign.trial import Result, Trial

HEADCOUNT = os.path.join(os.path.dirname(sys.executable), "headcount")


@pytest.fixture(autouse=True)
def _usual_umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


# --- losses ---------------------------------------------------------------------------------------------


class Desk:
    """A repository with one worktree that holds work of every kind."""

    def __init__(self, top: Path) -> None:
        self.repo, self.tree = top / "repo", top / "tree"
        self.repo.mkdir()
        self.git("init", "-q", "-b", "main")
        (self.repo / "a.txt").write_text("as it was\n")
        self.git("add", ".")
        self.git("commit", "-q", "-m", "first")
        self.git("worktree", "add", "-q", "-b", "work", str(self.tree))
        (self.tree / "committed.txt").write_text("committed\n")
        self.git("add", ".", cwd=self.tree)
        self.git("commit", "-q", "-m", "work", cwd=self.tree)
        (self.tree / "a.txt").write_text("stashed\n")
        self.git("stash", "-q", cwd=self.tree)
        (self.tree / "a.txt").write_text("staged\n")
        self.git("add", ".", cwd=self.tree)
        (self.tree / "a.txt").write_text("on disk\n")
        (self.tree / "untracked.txt").write_text("untracked\n")
        (self.tree / "empty").mkdir()
        (self.tree / "private").write_text("private\n")
        (self.tree / "private").chmod(0o600)

    def git(self, *words: str, cwd: Path | None = None) -> str:
        who = {f"GIT_{r}_{f}": "t@localhost" for r in ("AUTHOR", "COMMITTER") for f in ("NAME", "EMAIL")}
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.repo),
            "GIT_CONFIG_GLOBAL": os.devnull,
            **who,
        }
        done = subprocess.run(
            ["git", *words], cwd=cwd or self.repo, env=environment, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    def snapshot(self) -> Snapshot:
        git_dir = self.git("rev-parse", "--absolute-git-dir", cwd=self.tree)
        return take(str(self.tree), git_dir)

    def lost(self, before: Snapshot, listed: Listed | None = None) -> str:
        return "\n".join(lost("ada", before, gather(str(self.repo)), listed or Listed()))


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_nothing_is_reported_while_everything_is_there(desk: Desk) -> None:
    assert desk.lost(desk.snapshot()) == ""


def _fetch_and_forget(desk: Desk) -> None:
    scratch = desk.repo.parent / "scratch"
    scratch.mkdir()
    desk.git("init", "-q", ".", cwd=scratch)
    (scratch / "fetched.txt").write_text("fetched\n")
    desk.git("add", ".", cwd=scratch)
    desk.git("commit", "-q", "-m", "fetched", cwd=scratch)
    desk.git("fetch", "-q", str(scratch), "HEAD", cwd=desk.tree)


def _pseudo_ref(desk: Desk) -> None:
    Path(desk.git("rev-parse", "--absolute-git-dir", cwd=desk.tree), "FETCH_HEAD").unlink()


def _branch(desk: Desk) -> None:
    desk.git("checkout", "-q", "--detach", "main", cwd=desk.tree)
    desk.git("branch", "-q", "-D", "work")
    git_dir = Path(desk.git("rev-parse", "--absolute-git-dir", cwd=desk.tree))
    (git_dir / "ORIG_HEAD").unlink(missing_ok=True)
    (git_dir / "logs" / "HEAD").unlink()


@pytest.mark.parametrize(
    ("plant", "reported"),
    [
        (lambda desk: (desk.tree / "untracked.txt").unlink(), "file with its bytes of ada: untracked.txt"),
        (lambda desk: (desk.tree / "a.txt").write_text("other\n"), "file with its bytes of ada: a.txt"),
        (lambda desk: (desk.tree / "private").chmod(0o644), "mode 600 of a file of ada: private"),
        (lambda desk: (desk.tree / "empty").rmdir(), "empty directory of ada: empty"),
        (lambda desk: desk.git("stash", "clear"), "commit "),
        (
            lambda desk: desk.git("reset", "-q", cwd=desk.tree),
            f"blob {blob_id(b'staged' + bytes([10]))} of ada",
        ),
        (_branch, f"blob {blob_id(b'committed' + bytes([10]))} of ada"),
        (_pseudo_ref, f"blob {blob_id(b'fetched' + bytes([10]))} of ada"),
    ],
    ids=["file", "bytes", "mode", "empty-directory", "stash", "index", "branch", "pseudo-ref"],
)
def test_a_planted_loss_is_reported(desk: Desk, plant: Callable[[Desk], object], reported: str) -> None:
    _fetch_and_forget(desk)
    if reported.startswith("blob " + blob_id(b"committed\n")):
        desk.git("stash", "-q", "-u", cwd=desk.tree)
        desk.git("stash", "clear")
    before = desk.snapshot()
    assert desk.lost(before) == ""
    plant(desk)
    assert reported in desk.lost(before)


def test_only_ignored_files_that_a_receipt_lists_may_be_gone(desk: Desk) -> None:
    (desk.repo / ".git" / "info" / "exclude").write_text("built/\n")
    for name in ("built/a.js", "built/kept.js", "other.txt"):
        (desk.tree / name).parent.mkdir(exist_ok=True)
        (desk.tree / name).write_text(f"{name}\n")
    (desk.tree / "built" / "empty").mkdir()
    before = desk.snapshot()
    for name in ("built/a.js", "built/kept.js", "other.txt"):
        (desk.tree / name).unlink()
    (desk.tree / "built" / "empty").rmdir()
    assert "built/a.js" in desk.lost(before)
    found = desk.lost(before, Listed(frozenset({b"built", b"other.txt"}), frozenset({b"built/kept.js"})))
    assert "built/a.js" not in found and "empty directory" not in found
    assert "built/kept.js" in found and "other.txt" in found


def test_secret_that_became_an_object_is_reported(desk: Desk) -> None:
    (desk.repo / ".git" / "info" / "exclude").write_text(".env\n")
    (desk.tree / ".env").write_text("hush\n")
    before = desk.snapshot()
    assert published("ada", before, gather(str(desk.repo))) == []
    desk.git("add", "-f", ".env", cwd=desk.tree)
    desk.git("commit", "-q", "-m", "oops", "--", ".env", cwd=desk.tree)
    assert published("ada", before, gather(str(desk.repo))) == [".env of ada is in git"]


def test_bytes_behind_any_ref_are_found_when_the_worktree_is_gone(desk: Desk) -> None:
    before = desk.snapshot()
    desk.git("add", "-A", cwd=desk.tree)
    desk.git("worktree", "remove", "--force", str(desk.tree))
    missing = desk.lost(before)
    assert "untracked.txt" in missing
    for content in ("staged\n", "on disk\n", "untracked\n", "private\n"):
        path = desk.repo / "saved"
        path.write_text(content)
        oid = desk.git("hash-object", "-w", "saved")
        path.unlink()
        desk.git("update-ref", f"refs/saved/{oid}", oid)
    assert "bytes" not in desk.lost(before)
    assert "empty directory of ada: empty" in desk.lost(before)


def test_a_slot_holds_its_last_content_or_one_that_was_about_to_replace_it(
    tmp_path: Path, desk: Desk
) -> None:
    ledger = Ledger(str(tmp_path / "ledger"))
    ledger.write(str(desk.repo / "slot"), b"one")
    ledger.write(str(desk.repo / "slot"), b"two")
    ledger.add("will", slot=str(desk.repo / "slot"), oid=blob_id(b"three"))
    found = slots(read(ledger.path))
    assert [slot.accepted for slot in found] == [(blob_id(b"two"), blob_id(b"three"), blob_id(b""))]
    assert unrecorded("ada", found, gather(str(desk.repo))) == []
    (desk.repo / "slot").write_bytes(b"one")
    assert len(unrecorded("ada", found, gather(str(desk.repo)))) == 1


# --- strays ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "shape", ["child", "scrubbed", "renamed", "chain", "stopped", "zombie_leader", "undumpable"]
)
def test_a_planted_stray_is_reported_until_it_is_gone(tmp_path: Path, shape: str) -> None:
    locks, side = tmp_path / "locks", tmp_path / "side"
    locks.mkdir()
    side.mkdir()
    token = f"tok{os.getpid()}{shape}"
    post = Post(token, "ada", str(locks), str(side), Ledger(str(tmp_path / "ledger")))
    assert strays(str(locks), token) == []
    try:
        # In a process of its own: what it starts is then an orphan, as it is below an agent.
        if os.fork() == 0:
            STARTS[shape](post)
            os._exit(0)
        os.wait()
        assert strays(str(locks), token) != []
    finally:
        assert end_all(str(tmp_path), str(locks)) == []
    assert strays(str(locks), token) == []


def test_a_bystander_that_was_ended_is_reported(tmp_path: Path) -> None:
    (tmp_path / "tmux").mkdir()
    (tmp_path / "a.txt").write_text("")
    crowd = Bystanders(str(tmp_path), str(tmp_path), {"PATH": os.environ["PATH"]}, tmux=True)
    try:
        assert crowd.harmed() == []
        os.kill(crowd.server, signal.SIGKILL)
        crowd.kill_one("the editor")
        assert len(crowd.harmed()) == 2
    finally:
        crowd.end()


# --- whole trials ---------------------------------------------------------------------------------------


def _plan(*mates: Mate, ending: str = "force", kills: tuple[Kill, ...] = ()) -> Plan:
    return Plan(
        seed=0, number=1, only="", calm=False, mates=mates, ending=ending, escalation="force-kill",
        caller="plain", kills=kills,
    )  # fmt: skip


def _play(plan: Plan, headcount: str, tmp_path: Path) -> Result:
    return Trial(plan, headcount, lambda: False, str(tmp_path)).play()


def test_a_program_that_keeps_no_promise_breaks_the_trial(tmp_path: Path) -> None:
    naive = tmp_path / "naive"
    naive.write_text(f'#!/bin/sh\nexec {sys.executable} {Path(__file__).parent / "naive.py"} "$@"\n')
    naive.chmod(0o755)
    mate = Mate("m0", "silent", ("stash", "staged", "untracked"), ("setsid", "renamed"), False, False)
    result = _play(_plan(mate), str(naive), tmp_path)
    broken = "\n".join(result.broken)
    assert result.verdict == "broken", result.unplayed
    assert "lost: file with its bytes of m0: notes.txt" in broken
    assert "lost: blob" in broken
    assert "lock m0-setsid is held" in broken and "lock m0-renamed is held" in broken
    assert os.path.isdir(result.place), "the directory of a broken trial is kept"
    assert strays(f"{result.place}/locks", os.path.basename(result.place)) == []


def test_both_promises_are_kept_for_a_team_whose_engine_is_killed(tmp_path: Path) -> None:
    mates = (
        Mate("m0", "polite", ("committed", "untracked"), (), False, False),
        Mate(
            "m1",
            "silent",
            ("staged", "stash", "detached", "ignored"),
            ("setsid", "ignores_term"),
            False,
            False,
        ),
    )
    result = _play(_plan(*mates, kills=(Kill("down", 0.8, "engine", "KILL"),)), HEADCOUNT, tmp_path)
    assert (result.verdict, result.broken, result.unplayed) == ("kept", [], "")
    assert result.counted["pieces"] > 20 and result.counted["restored"] >= 1
    assert not os.path.exists(result.place)


def test_a_seed_gives_the_same_plan_again() -> None:
    plans = [draw(7, number) for number in range(200)]
    assert plans == [draw(7, number) for number in range(200)]
    assert len({str(plan) for plan in plans}) == 200
    assert plans[3].replay == "python -m bench.campaign --seed 7 --trial 3"
    endings = {plan.ending for plan in plans}
    assert endings == {"down", "force", "member", "no-wait", "keep-team", "run"}


def test_the_observer_imports_nothing_of_headcount() -> None:
    code = "import sys, bench.campaign.__main__; sys.exit('headcount' in sys.modules)"
    root = Path(__file__).parents[3]
    assert subprocess.run([sys.executable, "-c", code], cwd=root, timeout=60).returncode == 0
