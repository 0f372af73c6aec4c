"""A hub, by real pushes to real repositories. It may break off, refuse, hang, fill up, or lie."""

from __future__ import annotations

import os
import stat
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from gitworld import World, git, open_world

from headcount.errors import GitError
from headcount.workspace.git_workspaces import EngineWorkspaces
from headcount.workspace.hub import RemoteHub, list_own_branches, locate

LIMIT_S = 60.0
REF = "refs/headcount/salvage/t/alice/1"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q", "--bare", "hub.git")
    return tmp_path / "hub.git"


def commit(world: World, text: str, parent: str = "HEAD") -> str:
    """A commit that no ref of the repository names."""
    tree = git(world.top, "rev-parse", "HEAD^{tree}")
    return git(world.top, "commit-tree", tree, "-p", parent, "-m", text)


def by_ssh(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, script: str) -> str:
    """A URL whose server is this script; it gets git's command as $2."""
    program = tmp_path / "server.sh"
    program.write_text(f"#!/bin/sh\nset -u\necho run >> {tmp_path}/runs\nexec </dev/stdin\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("GIT_SSH_COMMAND", str(program))
    monkeypatch.setenv("GIT_SSH_VARIANT", "simple")
    return f"ssh://hub{tmp_path}/hub.git"


def runs(tmp_path: Path) -> int:
    return (tmp_path / "runs").read_text().count("run")


def count(place: Path) -> int:
    return len(git(place, "cat-file", "--batch-check", "--batch-all-objects").split("\n"))


def test_H16_a_repeat_is_the_same_commit_under_the_same_name(world: World, place: Path) -> None:
    saved = world.salvage(world.member())
    for _ in range(2):
        hub = RemoteHub(world.repo, str(place))  # as after a crash: nothing of the first push is known
        assert hub.push({saved.ref: saved.commit}, LIMIT_S) == {saved.ref: saved.ref}
    assert hub.names(["refs/headcount/*"], LIMIT_S) == {saved.ref: saved.commit}
    git(place, "fsck", "--full", "--strict")


def test_F133_the_hub_gets_the_objects_that_it_lacks_and_not_the_repository_again(
    world: World, place: Path
) -> None:
    hub = RemoteHub(world.repo, str(place))
    for n in range(200):
        (world.top / "src" / f"p{n % 5}").mkdir(exist_ok=True)
        (world.top / "src" / f"p{n % 5}" / f"file-{n}").write_text(f"{n}\n" * 50)
    git(world.top, "add", ".")
    git(world.top, "commit", "-qm", "many")
    hub.push({"refs/heads/main": "refs/heads/main"}, LIMIT_S)
    member = world.member()
    Path(member.path, "src/p1/file-1").write_text("changed\n")
    saved = world.salvage(member)
    before = count(place)
    hub.push({saved.ref: saved.commit}, LIMIT_S)
    assert count(place) - before < 40
    assert git(place, "show", f"{saved.ref}:files/src/p1/file-1") == "changed"
    git(place, "fsck", "--full", "--strict")


def test_requests_that_are_due_together_go_in_one_push(
    world: World, place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub = RemoteHub(world.repo, by_ssh(monkeypatch, tmp_path, 'eval "$2"'))
    commits = [commit(world, f"c{n}") for n in range(12)]
    started = threading.Barrier(12)

    def push(n: int) -> dict[str, str]:
        started.wait()
        return hub.push({f"refs/headcount/salvage/t/m{n}/1": commits[n]}, LIMIT_S)

    with ThreadPoolExecutor(12) as pool:
        for pushed in pool.map(push, range(12)):
            assert len(pushed) == 1
    assert len(hub.names(["refs/headcount/salvage/*"], LIMIT_S)) == 12
    assert runs(tmp_path) <= 2 * 3 + 1  # a push and a list each: not 12 of both


def test_one_request_that_is_refused_does_not_keep_the_others_away(world: World, place: Path) -> None:
    """The joint push is atomic, so all of it fails first."""
    hook = place / "hooks" / "pre-receive"
    hook.write_text("#!/bin/sh\n! grep -q m3\n")
    hook.chmod(0o755)
    hub = RemoteHub(world.repo, str(place))
    started = threading.Barrier(5)

    def push(n: int) -> str:
        started.wait()
        try:
            hub.push({f"refs/headcount/salvage/t/m{n}/1": commit(world, f"c{n}")}, LIMIT_S)
        except GitError as error:
            return error.why
        return ""

    with ThreadPoolExecutor(5) as pool:
        failed = list(pool.map(push, range(5)))
    assert [bool(why) for why in failed] == [False, False, False, True, False]
    assert "hook declined" in failed[3]


def test_objects_that_are_damaged_here_do_not_keep_others_away(world: World, place: Path) -> None:
    hub = RemoteHub(world.repo, str(place))
    started = threading.Barrier(2)

    def push(oid: str) -> bool:
        started.wait()
        try:
            hub.push({f"refs/headcount/salvage/t/{oid[:4]}/1": oid}, LIMIT_S)
        except GitError:
            return False
        return True

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(push, [commit(world, "whole"), "1" * 40])) == [True, False]


@pytest.mark.parametrize(
    ("script", "tries", "why"),
    [
        pytest.param("exit 255", 3, "", id="away"),
        pytest.param(
            'case "$2" in *receive-pack*) head -c 200 | eval "$2";; *) eval "$2";; esac', 3, "", id="reset"
        ),
        pytest.param("echo no space left on device >&2; exit 1", 3, "no space left", id="says-why"),
    ],
)
def test_a_push_that_does_not_come_through_is_tried_again_and_is_a_failure(
    world: World,
    place: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    script: str,
    tries: int,
    why: str,
) -> None:
    hub = RemoteHub(world.repo, by_ssh(monkeypatch, tmp_path, script))
    with pytest.raises(GitError) as failed:
        hub.push({REF: commit(world, "work")}, LIMIT_S)
    assert failed.value.code == "hub-failed" and why in failed.value.why
    assert runs(tmp_path) == tries
    assert git(place, "for-each-ref") == ""


def test_a_push_that_breaks_off_once_arrives_by_the_next_try(
    world: World, place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    once = f'touch {tmp_path}/broke; head -c 200 | eval "$2"; exit 1'
    script = f'[ -e {tmp_path}/broke ] || {{ {once}; }}; eval "$2"'
    hub = RemoteHub(world.repo, by_ssh(monkeypatch, tmp_path, script))
    work = commit(world, "work")
    hub.push({REF: work}, LIMIT_S)
    assert git(place, "rev-parse", REF) == work


def test_a_connection_that_is_lost_after_the_hub_took_it_is_not_a_loss(
    world: World, place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The hub has it, and git never heard so. The next try finds it there."""
    # The advertisement is passed on, and after it nothing: the client sends all, and reads no report.
    out = tmp_path / "out"
    said = f"while [ ! -s {out} ]; do sleep 0.01; done; cat {out}"
    mute = f'touch {tmp_path}/muted; eval "$2" > {out} & {said}; wait; exit 1'
    script = f'case "$2" in *receive-pack*) [ -e {tmp_path}/muted ] || {{ {mute}; }};; esac; eval "$2"'
    hub = RemoteHub(world.repo, by_ssh(monkeypatch, tmp_path, script))
    work = commit(world, "work")
    assert hub.push({REF: work}, LIMIT_S) == {REF: REF}
    assert git(place, "rev-parse", REF) == work


def test_F135_a_hub_that_accepts_and_forgets_has_not_got_it(
    world: World, place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forget = f"rm -rf {place}/refs/headcount"
    hub = RemoteHub(world.repo, by_ssh(monkeypatch, tmp_path, f'eval "$2"; {forget}'))
    with pytest.raises(GitError) as failed:
        hub.push({REF: commit(world, "work")}, LIMIT_S)
    assert failed.value.why == f"hub {hub.url}: it took {REF}, and does not name it afterwards"


def test_a_hub_that_hangs_is_left_at_the_limit_with_all_that_it_started(
    world: World, place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub = RemoteHub(world.repo, by_ssh(monkeypatch, tmp_path, f"echo $$ > {tmp_path}/pid; exec sleep 1000"))
    began = time.monotonic()
    with pytest.raises(GitError) as failed:
        hub.push({REF: commit(world, "work")}, 1.0)
    assert "did not answer in time" in failed.value.why
    assert time.monotonic() - began < 30
    server = Path("/proc", (tmp_path / "pid").read_text().strip(), "cmdline")
    while server.exists() and server.read_bytes():  # a dead one that nobody has waited for has no words
        assert time.monotonic() - began < LIMIT_S
        time.sleep(0.01)


def test_H19_a_hub_that_is_full_says_so(world: World, place: Path) -> None:
    """The disk is full for what receives: a limit on the size of its files is the same to it."""
    work = world.member()
    Path(work.path, "large").write_bytes(os.urandom(400_000))
    saved = world.salvage(work)
    (place / "hooks").mkdir(exist_ok=True)
    program = place.parent / "full.sh"
    program.write_text('#!/bin/sh\nulimit -f 100\ntrap "" XFSZ\neval "$2"\n')
    program.chmod(0o755)
    hub = RemoteHub(world.repo, f"ssh://hub{place}")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GIT_SSH_COMMAND", str(program))
        patch.setenv("GIT_SSH_VARIANT", "simple")
        with pytest.raises(GitError) as failed:
            hub.push({saved.ref: saved.commit}, LIMIT_S)
    assert "File too large" in failed.value.why
    assert git(place, "for-each-ref") == ""


def test_nothing_is_overwritten_and_what_was_rewritten_goes_beside_it(world: World, place: Path) -> None:
    hub = RemoteHub(world.repo, str(place))
    branch = "refs/heads/headcount/t/alice"
    first, second, third = (commit(world, name) for name in ("first", "amended", "amended again"))
    on = commit(world, "on", second)
    for tip, name in ((first, branch), (second, f"{branch}.rewritten"), (on, f"{branch}.rewritten")):
        assert hub.push({branch: tip}, LIMIT_S) == {branch: name}
    assert RemoteHub(world.repo, str(place)).push({branch: third}, LIMIT_S) == {
        branch: f"{branch}.rewritten.2"
    }
    assert git(place, "rev-parse", branch, f"{branch}.rewritten", f"{branch}.rewritten.2").split() == [
        first,
        on,
        third,
    ]
    # A salvage of a namesake in another clone has the first number.
    git(place, "update-ref", REF, third)
    assert hub.push({REF: first}, LIMIT_S) == {REF: f"{REF}.2"}
    assert git(place, "rev-parse", REF) == third


def test_a_chain_of_checkpoints_that_was_thinned_replaces_the_earlier_one(world: World, place: Path) -> None:
    hub = RemoteHub(world.repo, str(place))
    ref = "refs/headcount/checkpoints/t/alice/1"
    for name in ("long", "short"):
        assert hub.push({ref: (last := commit(world, name))}, LIMIT_S) == {ref: ref}
    assert git(place, "rev-parse", ref) == last
    hub.delete([ref, f"{ref}0"], LIMIT_S)
    assert git(place, "for-each-ref") == ""


def test_a_commit_that_is_not_here_is_fetched_with_all_that_it_needs(world: World, place: Path) -> None:
    hub = RemoteHub(world.repo, str(place))
    hub.push({"refs/heads/main": "refs/heads/main"}, LIMIT_S)
    git(world.top, "clone", "-q", "-b", "main", str(place), str(place.parent / "other"))
    other = place.parent / "other"
    (other / "theirs.txt").write_text("theirs\n")
    git(other, "add", ".")
    git(other, "commit", "-qm", "theirs")
    git(other, "push", "-q", "origin", "HEAD:refs/heads/headcount/t/bob")
    theirs = git(other, "rev-parse", "HEAD")
    hub.fetch(theirs, LIMIT_S)
    assert git(world.top, "show", f"{theirs}:theirs.txt") == "theirs"
    assert git(world.top, "for-each-ref", "--format=%(refname)") == "refs/heads/main"
    with pytest.raises(GitError) as missing:
        hub.fetch("1" * 40, LIMIT_S)
    assert missing.value.code == "hub-failed"


def test_F134_neither_hooks_nor_settings_of_the_repository_count(
    world: World, place: Path, tmp_path: Path
) -> None:
    """A member can write both. Its program would run, or its own hub would say that it has everything."""
    elsewhere = tmp_path / "elsewhere.git"
    git(tmp_path, "init", "-q", "--bare", str(elsewhere))
    hook = world.top / ".git" / "hooks" / "pre-push"
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    hook.chmod(hook.stat().st_mode | stat.S_IXUSR)
    for key, value in (
        (f"url.{elsewhere}.insteadOf", str(place)),
        ("core.sshCommand", f"touch {tmp_path}/ran"),
        ("credential.helper", f"!touch {tmp_path}/ran"),
        ("core.hooksPath", str(hook.parent)),
    ):
        git(world.top, "config", key, value)
    work = commit(world, "work")
    RemoteHub(world.repo, str(place)).push({REF: work}, LIMIT_S)
    assert git(place, "rev-parse", REF) == work
    assert not (tmp_path / "ran").exists() and git(elsewhere, "for-each-ref") == ""


def test_the_operators_own_configuration_counts(
    world: World, place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gitconfig").write_text(f'[url "{place}"]\n\tinsteadOf = hub:\n')
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    work = commit(world, "work")
    RemoteHub(world.repo, "hub:").push({REF: work}, LIMIT_S)
    assert git(place, "rev-parse", REF) == work


def test_every_branch_that_a_member_made_has_a_name_of_its_own_at_the_hub(world: World) -> None:
    member = world.member()
    assert list_own_branches(world.repo, member) == {}
    for name in ("", "main-2"):
        if name:
            git(member.path, "switch", "-q", "-c", name)
        (Path(member.path) / f"new{name}").write_text("new\n")
        git(member.path, "add", ".")
        git(member.path, "commit", "-qm", "work")
    own = git(member.path, "rev-parse", f"refs/heads/{member.branch}", "main-2").split()
    names = ["refs/heads/headcount/t/alice", "refs/heads/headcount/t/alice.branches/main-2"]
    assert list_own_branches(world.repo, member) == dict(zip(names, own, strict=True))


def test_a_leader_that_is_gone_leaves_the_lead_to_another(world: World, place: Path) -> None:
    """A request that has stopped waiting must not be the one that the others wait for."""
    hub = RemoteHub(world.repo, str(place))
    commits = [commit(world, f"c{n}") for n in range(8)]
    started = threading.Barrier(8)

    def push(n: int) -> bool:
        started.wait()
        try:
            hub.push({f"refs/headcount/salvage/t/m{n}/1": commits[n]}, 0.001 if n % 2 else LIMIT_S)
        except GitError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        done = list(pool.map(push, range(8)))
    assert all(done[::2])
    assert hub.push({REF: commits[0]}, LIMIT_S) == {REF: REF}


def test_G3_two_hosts_choose_different_branches_for_two_generations(world: World, place: Path) -> None:
    """Neither sees the other's clone: the name comes from the generation, not from what is free here."""
    git(world.top, "clone", "-q", str(world.top), str(place.parent / "other"))
    other = open_world(place.parent / "other")
    first = world.workspaces.create("t", "alice", 1, shared_names=True)
    second = other.workspaces.create("t", "alice", 2, shared_names=True)
    assert (first.branch, second.branch) == ("headcount/t/alice", "headcount/t/alice.2")
    assert other.workspaces.create("t", "alice", 2, shared_names=True) == second
    git(other.top, "branch", "headcount/t/bob.2")
    assert other.workspaces.create("t", "bob", 2, shared_names=True).branch == "headcount/t/bob.2.2"


def test_G6_what_another_host_made_is_brought_here(world: World, place: Path, tmp_path: Path) -> None:
    hub, ref = RemoteHub(world.repo, str(place)), "refs/heads/headcount/t/integration"
    hub.push({"refs/heads/main": "refs/heads/main"}, LIMIT_S)
    git(tmp_path, "clone", "-q", "-b", "main", str(place), str(tmp_path / "other"))
    other = open_world(tmp_path / "other")
    theirs = RemoteHub(other.repo, str(place))
    work = other.member("bob")
    Path(work.path, "new").write_text("new\n")
    saved = other.salvage(work)
    merged = commit(other, "merged there")
    theirs.push({ref: merged, saved.ref: saved.commit}, LIMIT_S)
    here = EngineWorkspaces(world.repo, str(tmp_path / "w"), str(tmp_path / "archive"))
    for name in (ref, saved.ref, merged):
        here.bring(name, hub, LIMIT_S, {})
    assert git(world.top, "rev-parse", ref, saved.ref).split() == [merged, saved.commit]
    own = commit(world, "merged here", merged)
    git(world.top, "update-ref", ref, own)
    here.bring(ref, hub, LIMIT_S, {})
    assert git(world.top, "rev-parse", ref) == own  # it is further
    place.rename(f"{place}.away")
    here.bring(ref, hub, LIMIT_S, {})
    with pytest.raises(GitError):
        here.bring("refs/headcount/salvage/t/eve/1", hub, LIMIT_S, {})


@pytest.mark.parametrize(
    ("url", "located"),
    [
        ("../hub.git", "/srv/hub.git"),
        ("/srv/x.git", "/srv/x.git"),
        ("git@forge:x.git", "git@forge:x.git"),
        ("ssh://forge/x.git", "ssh://forge/x.git"),
        ("", ""),
    ],
)
def test_a_path_is_meant_from_the_repository(url: str, located: str) -> None:
    assert locate(url, "/srv/repo") == located


def test_nothing_is_left_of_a_push(
    world: World, place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "scratch").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "scratch"))
    before = set(
        subprocess.run(["find", str(world.top)], capture_output=True, check=True).stdout.splitlines()
    )
    RemoteHub(world.repo, str(place)).push({"refs/heads/x": "refs/heads/main"}, LIMIT_S)
    after = set(subprocess.run(["find", str(world.top)], capture_output=True, check=True).stdout.splitlines())
    assert before == after and not os.listdir(tmp_path / "scratch")
