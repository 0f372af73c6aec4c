"""The one place that runs `git`.

Whoever called us, from wherever, must not change what we see: every `GIT_*` variable is dropped but the
few that say where git's configuration is, repository and work tree are always named and never searched
for, replace refs and grafts are ignored, hooks and monitors are off, and nothing prompts. Reads take no
locks. Arguments and answers are bytes, separated by NUL where git can: a file name may hold a newline.

A command that may run programs (`programs.is_plain` decides) sees a configuration of our own making, and runs
below a reaper if that names any.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Protocol

from headcount.domain.environment import build_environment
from headcount.errors import GitError
from headcount.value_classes import dataclass
from headcount.workspace.git_settings import (
    QUESTION,
    Config,
    Recorded,
    compose,
    find_changed_filters,
    find_common_dir,
    is_plain,
    private_directory,
    read_config,
    runs_programs,
)

OLDEST = (2, 38)  # the first with `merge-tree --write-tree`

# git writes the files of a new worktree one after the other, and fails when it looks at one that another git
# is just making or removing. A moment later there is nothing wrong with it.
_HALF_MADE = re.compile(rb"failed to read \S*/worktrees/\S*/commondir")
_TRIES = 20
_TRY_AGAIN_S = 0.02

_NOWHERE = f"{os.devnull}/none"  # never there; of an empty file git would say that it is out of date
_KEPT = {"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_EXEC_PATH"}
_NAME, _ADDRESS = "headcount", "headcount@localhost"
NAME_AND_ADDRESS = f"{_NAME} <{_ADDRESS}>"  # as git writes whoever did something
_IDENTITY = {
    f"GIT_{role}_{field}": value
    for role in ("AUTHOR", "COMMITTER")
    for field, value in (("NAME", _NAME), ("EMAIL", _ADDRESS))
}
_SETTINGS = (
    *("-c", "core.fsmonitor=false"),
    *("-c", "core.quotePath=false"),
    *("-c", "core.hooksPath=/dev/null"),
    *("-c", "core.untrackedCache=false"),
    # A file is looked into unless all of its times are as they were, also the one that nobody can set; and
    # `A.txt` beside `a.txt` is a file of its own wherever there can be both.
    *("-c", "core.trustctime=true"),
    *("-c", "core.checkStat=default"),
    *("-c", "core.ignoreCase=false"),
    # A salvage is worth nothing if a power cut takes it: objects and refs are synced before we say "saved".
    *("-c", "core.fsync=committed,loose-object,reference"),
    # A new worktree has no submodules yet; git fails where it is told to go into them all the same.
    *("-c", "submodule.recurse=false"),
    *("-c", "gc.auto=0"),
    *("-c", "maintenance.auto=false"),
    *("-c", "log.showSignature=false"),  # it runs `gpg.program`
    # Odd names are content too. They never leave the object database under these names.
    *("-c", "core.protectHFS=false"),
    *("-c", "core.protectNTFS=false"),
)


def quiet_environment() -> dict[str, str]:
    """Our environment without what would point git elsewhere, and with what keeps it from asking anybody. For
    a command of the user's too: how its git reads paths, and in whose name, is its own."""
    built = build_environment(os.environ)
    kept = {k: v for k, v in built.items() if not k.startswith("GIT_") or k in _KEPT}
    quiet = {"GIT_TERMINAL_PROMPT": "0", "GIT_ASKPASS": "true", "SSH_ASKPASS": "true", "GIT_EDITOR": ":"}
    return {**kept, **quiet}


def scrubbed_environment(extra: Mapping[str, str] = {}) -> dict[str, str]:
    """For our own git: whose words we read, which takes nothing for a pattern, and which locks nothing."""
    ours = {
        "LC_ALL": "C",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_LITERAL_PATHSPECS": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_GRAFT_FILE": _NOWHERE,
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_ALLOW_PROTOCOL": "none",  # git before 2.45 has no other way to keep from fetching
    }
    return {**quiet_environment(), **ours, **_IDENTITY, **extra}


@dataclass(frozen=True, slots=True)
class Answer:
    code: int
    out: bytes
    err: bytes

    @property
    def text(self) -> str:
        return self.out.decode("utf-8", "surrogateescape").strip("\n")

    def records(self) -> list[bytes]:
        """NUL-terminated records."""
        return self.out.split(b"\0")[:-1]


_CONFIGS: dict[str, Config] = {}  # by common directory, of this process


class Reaper(Protocol):
    """Runs a program, and ends everything that it has started (`runtime.commands.Commands.execute`)."""

    def __call__(
        self,
        argv: Sequence[str | bytes],
        *,
        cwd: str | None,
        env: Mapping[str, str],
        stdin: bytes | None,
        timeout_s: float,
    ) -> subprocess.CompletedProcess[bytes]: ...


@dataclass(frozen=True, slots=True)
class Git:
    """Runs git on one git directory, with or without a work tree, until a deadline.

    `recorded` is the configuration as it was when the team began; None: as it is.
    """

    git_dir: str | None = None
    work_tree: str | None = None
    cwd: str | None = None
    executable: str = "git"
    timeout_s: float = 60.0
    deadline: float | None = None
    index: str | None = None
    extra: tuple[tuple[str, str], ...] = ()  # further environment variables
    reaper: Reaper | None = None
    recorded: Recorded | None = None
    settings: tuple[str, ...] = ()  # further `-c name=value`
    runs_no_program: bool = False  # its git directory is ours, and so is all of its configuration

    def until(self, timeout_s: float) -> Git:
        """The same, with one time limit over everything that is run from now on."""
        return replace(self, deadline=time.monotonic() + timeout_s)

    def offline(self) -> Git:
        """The same, without network: an object that a partial clone lacks is missing, and is not fetched.

        git honours GIT_NO_LAZY_FETCH only from 2.45 on; no git fetches when every protocol is forbidden.
        """
        return self.with_env(GIT_ALLOW_PROTOCOL="none")

    def with_env(self, **variables: str) -> Git:
        return replace(self, extra=(*self.extra, *variables.items()))

    def on(self, git_dir: str, work_tree: str | None) -> Git:
        return replace(self, git_dir=git_dir, work_tree=work_tree, cwd=work_tree, index=None)

    def with_index(self, index: str) -> Git:
        return replace(self, index=index)

    def run(
        self,
        *args: str | bytes,
        stdin: bytes | None = None,
        ok: Sequence[int] = (0,),
        env: Mapping[str, str] = {},
    ) -> Answer:
        """Run and return the answer; a status not in `ok`, or no time left, is a GitError."""
        plain = self.runs_no_program or is_plain(args)
        how = self._run_plain if plain else self._run_with_programs
        for _ in range(_TRIES):
            answer = how(args, stdin, env)
            if answer.code == 0 or not _HALF_MADE.search(answer.err):
                break
            time.sleep(_TRY_AGAIN_S)
        if answer.code not in ok:
            raise failure(args, answer)
        return answer

    def _run_plain(self, args: Sequence[str | bytes], stdin: bytes | None, env: Mapping[str, str]) -> Answer:
        return execute(
            self.command(*args),
            cwd=self.cwd,
            env=self.environment(env),
            stdin=stdin,
            timeout_s=self.time_left(),
        )

    def _run_with_programs(
        self, args: Sequence[str | bytes], stdin: bytes | None, env: Mapping[str, str]
    ) -> Answer:
        assert self.git_dir is not None
        entries = compose(self._read_config().entries, self.recorded)
        with private_directory(self.git_dir, entries) as private:
            environment = {**self.environment(env), **private}
            if not runs_programs(entries):
                return execute(
                    self.command(*args),
                    cwd=self.cwd,
                    env=environment,
                    stdin=stdin,
                    timeout_s=self.time_left(),
                )
            del environment["GIT_ALLOW_PROTOCOL"]  # a partial clone fetches what it writes to a work tree
            return self.reap(
                self.command(*args), cwd=self.cwd, env=environment, stdin=stdin, timeout_s=self.time_left()
            )

    @contextmanager
    def environment_for(self, variables: Mapping[str, str] = {}) -> Iterator[dict[str, str]]:
        """Give the environment of a program that calls git itself: it reads the same configuration as we."""
        assert self.git_dir is not None
        ours = [setting.split("=", 1) for setting in _SETTINGS[1::2]]
        given = {"GIT_DIR": self.git_dir, "GIT_CONFIG_COUNT": str(len(ours))}
        if self.work_tree:
            given["GIT_WORK_TREE"] = self.work_tree
        for number, (key, value) in enumerate(ours):
            given |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
        entries = compose(self._read_config().entries, self.recorded)
        with private_directory(self.git_dir, entries) as private:
            yield {**quiet_environment(), **given, **private, **variables}

    def record_config(self) -> Recorded:
        """The whole configuration as it is now, with all includes resolved; without what we add ourselves."""
        return Recorded(self._read_config().entries)

    def find_changed_filters(self) -> frozenset[str]:
        """Names of filters that git runs otherwise, or not, when the member calls it."""
        return find_changed_filters(self._read_config().entries, self.recorded)

    def _read_config(self) -> Config:
        """The last answer, while its files are as they were: most worktrees of a repository share one."""
        assert self.git_dir is not None
        common_dir, environ = find_common_dir(self.git_dir), self.environment()
        known = _CONFIGS.get(common_dir)
        if known is None or not known.is_current():
            known = read_config(common_dir, environ, lambda: self.run(*QUESTION).records())
            _CONFIGS.pop(common_dir, None)
            if known.is_everywhere_the_same:
                _CONFIGS[common_dir] = known
        return known

    def reap(
        self,
        command: Sequence[str | bytes],
        *,
        cwd: str | None,
        env: Mapping[str, str],
        stdin: bytes | None,
        timeout_s: float,
    ) -> Answer:
        """Run a command of a user or a repository, not only git, below a reaper where there is one."""
        if self.reaper is None:
            return execute(command, cwd=cwd, env=env, stdin=stdin, timeout_s=timeout_s)
        try:
            done = self.reaper(command, cwd=cwd, env=env, stdin=stdin, timeout_s=timeout_s)
        except subprocess.TimeoutExpired as expired:
            raise _no_answer(command, timeout_s) from expired
        except InterruptedError as error:
            raise GitError(f"`{_shown(command)}` was ended", str(error), code="git-failed") from error
        except OSError as error:
            raise _missing(command, error) from error
        return Answer(done.returncode, done.stdout, done.stderr)

    def text(self, *args: str | bytes) -> str:
        return self.run(*args).text

    def command(self, *args: str | bytes) -> list[str | bytes]:
        where = [f"--git-dir={self.git_dir}"] if self.git_dir else []
        where += [f"--work-tree={self.work_tree}"] if self.work_tree else []
        return [self.executable, *where, *_SETTINGS, *self.settings, *args]

    def environment(self, extra: Mapping[str, str] = {}) -> dict[str, str]:
        index = {"GIT_INDEX_FILE": self.index} if self.index else {}
        return scrubbed_environment({**index, **dict(self.extra), **extra})

    def time_left(self) -> float:
        """Up to the deadline. `timeout_s` limits single calls that belong to no larger task."""
        if self.deadline is None:
            return self.timeout_s
        return max(0.01, self.deadline - time.monotonic())


def execute(
    command: Sequence[str | bytes],
    *,
    cwd: str | None,
    env: Mapping[str, str],
    stdin: bytes | None,
    timeout_s: float,
) -> Answer:
    """Run in a session of its own, so that a filter which hangs ends together with the git that ran it."""
    try:
        process = subprocess.Popen(
            command,
            cwd=cwd,
            env=env,
            stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        raise _missing(command, error) from error
    with process:
        try:
            out, err = process.communicate(stdin, timeout=timeout_s)
        except subprocess.TimeoutExpired as expired:
            os.killpg(process.pid, signal.SIGKILL)
            raise _no_answer(command, timeout_s) from expired
    return Answer(process.returncode, out, err)


def _missing(command: Sequence[str | bytes], error: OSError) -> GitError:
    hints = ("See what is missing with `headcount doctor`",)
    return GitError(f"Could not run {_plain(command[0])}", str(error), hints, code="git-missing")


def _no_answer(command: Sequence[str | bytes], timeout_s: float) -> GitError:
    return GitError(
        f"`{_shown(command)}` did not end", f"no answer after {timeout_s:.1f} s", code="git-timeout"
    )


def failure(args: Sequence[str | bytes], answer: Answer) -> GitError:
    """The last thing it said, and before it what it calls an error: of a disk that is full or read-only, only
    that one tells."""
    said = answer.err.decode("utf-8", "replace").strip().splitlines()
    told = [line for line in said if line.startswith("error: ")][:1] + said[-1:]
    why = "; ".join(dict.fromkeys(told)) or f"exit status {answer.code}"
    return GitError(f"`git {_shown(args)}` failed", why, code="git-failed")


def read_version(executable: str = "git") -> tuple[int, ...]:
    """The version of the git we would run; older than OLDEST is an error that says so."""
    said = Git(executable=executable).text("version")
    found = re.search(r"(\d+)\.(\d+)(?:\.(\d+))?", said)
    if not found:
        raise GitError("Did not understand `git version`", said, code="git-version")
    version = tuple(int(part) for part in found.groups(default="0"))
    if version[:2] < OLDEST:
        raise GitError(
            f"git {'.'.join(map(str, version))} is too old",
            f"headcount needs git {OLDEST[0]}.{OLDEST[1]} or newer for `git merge-tree --write-tree`",
            ("Install a newer git and see `headcount doctor`",),
            code="git-version",
        )
    return version


def _plain(part: str | bytes) -> str:
    return part.decode("utf-8", "replace") if isinstance(part, bytes) else part


def _shown(args: Sequence[str | bytes]) -> str:
    words = [_plain(arg) for arg in args if arg not in _SETTINGS]
    return " ".join(words[:6]) + (" …" if len(words) > 6 else "")
