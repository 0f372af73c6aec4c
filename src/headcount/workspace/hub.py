"""The hub: a repository elsewhere that has a copy of all saved work (`ports.Hub`), reached by git alone.

A ref counts as pushed when `git ls-remote` names its very commit there. Nothing else counts: neither the exit
status of a push, nor an earlier push of another process. A push that was cut off is repeated with the same
commits under the same names, so a repeat after a crash changes nothing.

Refs that are due at the same time go in one push: the connection and the search for common objects cost more
than the objects. A push is atomic. If the hub refuses a ref in a push of several requests, each goes alone.

git runs in a git directory that headcount has just made. It reads the objects of the repository, and neither
its configuration nor its hooks, because members can write those. Credentials, proxies and ssh commands come
from the operator's own configuration and environment. `pack.useSparse=false` is essential: the tree of a
salvage lies below `files/`, and git's default search sends the whole repository with it (bench/hub.py).
"""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field

from headcount.domain.environment import build_environment
from headcount.domain.findings import Workspace
from headcount.errors import GitError
from headcount.value_classes import dataclass
from headcount.workspace.git import Answer, Git, execute
from headcount.workspace.objects import read_types
from headcount.workspace.ref_names import CHECKPOINTS, HEADS, branch_name, next_name_at_hub
from headcount.workspace.reflog import read_ownership
from headcount.workspace.repository import Repository

_SETTINGS = (
    *("-c", "pack.useSparse=false"),
    *("-c", "push.negotiate=false"),
    *("-c", "push.gpgSign=false"),
    *("-c", "push.followTags=false"),
    *("-c", "push.recurseSubmodules=no"),
    *("-c", "fetch.unpackLimit=1"),
)
# Variables of the operator by which git reaches a server and logs in.
_REACHING = {
    *("GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSH_VARIANT", "GIT_ASKPASS", "GIT_PROXY_COMMAND"),
    *("GIT_SSL_CAINFO", "GIT_SSL_CAPATH", "GIT_SSL_CERT", "GIT_SSL_KEY", "GIT_SSL_NO_VERIFY"),
}
_TRY_AGAIN_S = (0.2, 1.0, None)  # the wait after each try
_WINDOW_S = 0.05  # others that are due within it go along
_MOST_NAMES = 100  # under which a ref may be at the hub
_MOST_TIPS = 200  # commits that a fetch names as known
_TAKEN = ("(non-fast-forward)", "(fetch first)", "(already exists)", "(needs force)")
_DAMAGED = ("pack-objects died", "src refspec", "bad object", "unable to read")
_SAYS_NOTHING = ("hint:", "error: failed to push", "Please make sure", "and the repository exists", "To ")


@dataclass(slots=True, eq=False)
class _Request:
    """Refs that belong together, by their wanted names, until the hub has them or has failed."""

    refs: dict[str, str]
    objects: frozenset[str]
    deadline: float
    kept: dict[str, str] | None = None  # by wanted name: the name at the hub
    why: str = "it did not answer in time"
    leads: bool = False
    turn: threading.Event = field(default_factory=threading.Event)


class RemoteHub:
    """One hub, for all threads of a process. `here` is the name of this host, for receipts."""

    def __init__(self, repo: Repository, url: str, here: str = "") -> None:
        self.url = url
        self.here = here or os.uname().nodename
        self._repo = repo
        self._lock = threading.Lock()
        self._waiting: list[_Request] = []
        self._has_leader = False
        self._renamed: dict[str, str] = {}  # refs that the hub has under another name, as far as known here

    # --- pushing

    def push(self, refs: Mapping[str, str], limit_s: float, objects: Iterable[str] = ()) -> dict[str, str]:
        commits = {name: self._resolve(commit) for name, commit in refs.items()}
        request = _Request(commits, frozenset(objects), time.monotonic() + limit_s)
        with self._lock:
            self._waiting.append(request)
            request.leads, self._has_leader = not self._has_leader, True
        if not request.leads:
            request.turn.wait(limit_s)
            with self._lock:  # nobody may be made the leader who has stopped waiting
                if not request.leads and request in self._waiting:
                    self._waiting.remove(request)
        if request.leads:
            time.sleep(min(_WINDOW_S, limit_s))
            self._lead()
        if request.kept is None:
            raise self._failure(request.why)
        return request.kept

    def _resolve(self, commit: str) -> str:
        return self._repo.commit(commit) or "" if commit.startswith("refs/") else commit

    def _lead(self) -> None:
        """Push all that waits. Then the first of those that came in the meantime leads."""
        with self._lock:
            batch, self._waiting = self._waiting, []
        try:
            self._push_batch(batch)
        finally:
            with self._lock:
                self._has_leader = bool(self._waiting)
                for request in (*batch, *self._waiting[:1]):
                    request.leads = request in self._waiting
                    request.turn.set()

    def _push_batch(self, batch: list[_Request]) -> None:
        pending = batch
        while pending:
            if self._push_together(pending) and len(pending) > 1:
                for request in pending:
                    self._push_together([request])
                break
            # Its time is that of the most urgent request. The others are pushed again without that one.
            over = [request for request in pending if request.deadline <= time.monotonic()]
            pending = [one for one in pending if one.kept is None and one not in over] if over else []
        for request in batch:
            self._push_under_other_names(request)

    def _push_under_other_names(self, request: _Request) -> None:
        """Retry with the next names while the hub has other commits under the present ones."""
        for _ in range(_MOST_NAMES):
            if request.kept is not None or request.why not in _TAKEN:
                return
            refused = self._push_together([request])
            for name in request.refs:
                if refused.get(at_hub := self._renamed.get(name, name)) in _TAKEN:
                    self._renamed[name] = next_name_at_hub(name, at_hub)

    def _push_together(self, batch: list[_Request]) -> dict[str, str]:
        """Push in one, with retries. Each request then is kept, or has a reason. Return the refused refs."""
        names = [{name: self._renamed.get(name, name) for name in request.refs} for request in batch]
        wanted = {
            at_hub: request.refs[name]
            for request, of_one in zip(batch, names, strict=True)
            for name, at_hub in of_one.items()
        }
        objects = frozenset[str]().union(*(request.objects for request in batch))
        deadline = min(request.deadline for request in batch)
        refused: dict[str, str] = {}
        why = ""
        for wait_s in _TRY_AGAIN_S:
            try:
                why, refused = self._push_once(wanted, objects, deadline)
            except GitError as error:
                why = error.why.removeprefix(self._prefix)
            if not why or refused or wait_s is None or time.monotonic() + wait_s > deadline:
                break
            time.sleep(wait_s)
        for request, of_one in zip(batch, names, strict=True):
            request.kept = None if why else of_one
            reasons = [refused[at_hub] for at_hub in of_one.values() if at_hub in refused]
            request.why = next((one for one in reasons if one in _TAKEN), why)
        return refused

    def _push_once(
        self, wanted: Mapping[str, str], objects: Iterable[str], deadline: float
    ) -> tuple[str, dict[str, str]]:
        """Why it failed, or ""; and the refs that the hub refused, each with git's reason in brackets."""
        # A chain of checkpoints is written again when it is thinned. Nothing else is ever replaced.
        forced = {name: "+" * name.startswith(f"{CHECKPOINTS}/") for name in wanted}
        specs = [f"{forced[name]}{commit}:{name}" for name, commit in wanted.items()]
        how = ("push", "--porcelain", "--atomic", "--no-verify", "--", self.url, *specs)
        with self._git_directory(objects) as git:
            pushed = self._run(git, deadline, *how)
            rows = [line.split("\t") for line in pushed.text.split("\n") if line.startswith("!\t")]
            refused = {row[1].partition(":")[2]: f"({row[2].partition('(')[2]}" for row in rows}
            if pushed.code:
                why = "; ".join([*dict.fromkeys(refused.values()), _last_words(pushed)])
                # Of one request its objects may be damaged here. Then the others must go without it.
                return why, refused or ({"": why} if any(word in why for word in _DAMAGED) else {})
        named = self.names(wanted, deadline - time.monotonic())
        lost = [name for name, commit in wanted.items() if named.get(name) != commit]
        return (f"it took {lost[0]}, and does not name it afterwards" if lost else "", {})

    def delete(self, refs: Iterable[str], limit_s: float) -> None:
        deadline = time.monotonic() + limit_s
        there = self.names(refs, limit_s)
        if not there:
            return
        with self._git_directory() as git:
            specs = (f":{name}" for name in there)
            deleted = self._run(git, deadline, "push", "--quiet", "--no-verify", "--", self.url, *specs)
        if deleted.code:
            raise self._failure(_last_words(deleted))

    # --- reading

    def names(self, refs: Iterable[str], limit_s: float) -> dict[str, str]:
        wanted = tuple(refs)
        if not wanted:
            return {}
        with self._git_directory() as git:
            listed = self._run(git, time.monotonic() + limit_s, "ls-remote", "--", self.url, *wanted)
        if listed.code:
            raise self._failure(_last_words(listed))
        rows = (line.partition("\t") for line in listed.text.split("\n") if line)
        # git also lists refs whose names only end like a wanted one.
        below = tuple(name[:-1] for name in wanted if name.endswith("/*"))
        return {name: commit for commit, _, name in rows if name in wanted or name.startswith(below)}

    def fetch(self, commit: str, limit_s: float) -> None:
        if commit in read_types(self._repo.git.offline(), [commit]):
            return
        tips = set(self._repo.git.text("for-each-ref", "--format=%(objectname)", "refs/").split())
        known = [f"--negotiation-tip={tip}" for tip in sorted(tips)[:_MOST_TIPS]]
        quiet = ("--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules")
        with self._git_directory() as git:
            into = git.with_env(GIT_OBJECT_DIRECTORY=self._repo.objects)
            deadline = time.monotonic() + limit_s
            fetched = self._run(into, deadline, "fetch", *quiet, *known, "--", self.url, commit)
        if fetched.code:
            raise self._failure(_last_words(fetched))

    # --- git

    @contextmanager
    def _git_directory(self, objects: Iterable[str] = ()) -> Iterator[Git]:
        """git in a new directory that sees the objects of the repository, and those in `objects`."""
        place = tempfile.mkdtemp(prefix="headcount-hub-")
        try:
            other_hash = self._repo.hash_name != "sha1"
            config = f"[core]\n\tbare = true\n\trepositoryformatversion = {int(other_hash)}\n"
            config += f"[extensions]\n\tobjectFormat = {self._repo.hash_name}\n" if other_hash else ""
            for name, content in (("config", config), ("HEAD", "ref: refs/heads/none\n")):
                with open(os.path.join(place, name), "w", encoding="ascii") as file:
                    file.write(content)
            for name in ("objects", "refs"):
                os.mkdir(os.path.join(place, name))
            stores = os.pathsep.join(_quoted(store) for store in (self._repo.objects, *objects))
            git = Git(git_dir=place, executable=self._repo.git.executable, settings=_SETTINGS)
            yield git.with_env(GIT_ALTERNATE_OBJECT_DIRECTORIES=stores)
        finally:
            shutil.rmtree(place, ignore_errors=True)

    def _run(self, git: Git, deadline: float, *words: str) -> Answer:
        left = deadline - time.monotonic()
        if left <= 0:
            raise self._failure("no time was left for it")
        own = build_environment(os.environ)
        reaching = {name: value for name, value in own.items() if name in _REACHING}
        env = {**git.environment(), "SSH_ASKPASS": own.get("SSH_ASKPASS", "true"), **reaching}
        del env["GIT_ALLOW_PROTOCOL"]
        try:
            return execute(git.command(*words), cwd=git.git_dir, env=env, stdin=None, timeout_s=left)
        except GitError as error:
            why = "it did not answer in time" if error.code == "git-timeout" else error.why
            raise self._failure(why) from error

    @property
    def _prefix(self) -> str:
        return f"hub {self.url}: "

    def _failure(self, why: str) -> GitError:
        return GitError(
            "The hub does not have it",
            self._prefix + why,
            ("Check the hub with `headcount doctor`",),
            code="hub-failed",
        )


def list_own_branches(repo: Repository, workspace: Workspace) -> dict[str, str]:
    """The branches with commits of this member, by their names at the hub.

    The member's own branch has the same name there. Others that it made are below it, because their names
    are not unique at a hub that many share.
    """
    if workspace.git_dir is None:
        return {}
    owned = read_ownership(workspace.git_dir, repo.common_dir, workspace.branch, repo.exists)
    tips = {name: repo.commit(f"{HEADS}{name}") for name in sorted(owned.branches)}
    stem = workspace.branch or branch_name(workspace.team, workspace.member, 1)
    begins = ("--not", workspace.base) if workspace.base else ()
    return {
        f"{HEADS}{name if name == workspace.branch else f'{stem}.branches/{name}'}": tip
        for name, tip in tips.items()
        if tip and tip != workspace.base and repo.git.text("rev-list", "--max-count=1", tip, *begins)
    }


def locate(url: str, root: str) -> str:
    """A hub as git takes it from everywhere: a relative path is meant from `root`."""
    is_path = "://" not in url and ":" not in url.partition("/")[0]
    return os.path.normpath(os.path.join(root, os.path.expanduser(url))) if url and is_path else url


def _quoted(path: str) -> str:
    return '"' + path.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _last_words(answer: Answer) -> str:
    """What the hub printed, and what git made of it, in one line."""
    lines = [line.strip() for line in answer.err.decode("utf-8", "replace").splitlines()]
    said = [line for line in lines if line and not line.startswith(_SAYS_NOTHING)]
    remote = [line.removeprefix("remote:").strip() for line in said if line.startswith("remote:")]
    own = [line for line in said if not line.startswith("remote:")]
    told = [*filter(None, remote)][:3] + own[-2:]
    return "; ".join(dict.fromkeys(told)) or f"git ended with status {answer.code}"
