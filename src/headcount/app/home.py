"""Where the state is: `.headcount/` beside the repository's `.git`, found upwards as git does."""

from __future__ import annotations

import os

from headcount.app.place import check_place, write_place
from headcount.errors import StoreError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

NAME = ".headcount"


def find_home(start: str, environ: Mapping[str, str]) -> str:
    """The state directory for `start`; it need not exist yet."""
    if environ.get("HEADCOUNT_HOME"):
        return os.path.abspath(environ["HEADCOUNT_HOME"])
    for place in _upwards(start):
        if os.path.isdir(f"{place}/{NAME}"):
            return f"{place}/{NAME}"
        repository = _main_repository(place)
        if repository is not None:
            return f"{repository}/{NAME}"
    return f"{os.path.realpath(start)}/{NAME}"


def find_checkout(start: str, home: str) -> str:
    """The top of the user's checkout that `start` is in: the main one, or a linked worktree of the user's.

    Its HEAD, settings and files count for a command that is called there. A member's workspace is a linked
    worktree too, but not the user's: there, and outside of the repository, it is the main one.
    """
    main = os.path.dirname(home)
    here = next((place for place in _upwards(start) if os.path.lexists(f"{place}/.git")), None)
    if here is None or f"{here}/".startswith(f"{os.path.realpath(home)}/") or _is_workspace(here):
        return main
    repository = _main_repository(here)
    return here if repository is not None and os.path.realpath(repository) == os.path.realpath(main) else main


def find_repository_above(start: str) -> str | None:
    return next(filter(None, map(_main_repository, _upwards(start))), None)


def _upwards(start: str) -> Iterator[str]:
    place, above = os.path.realpath(start), ""
    while place != above:
        yield place
        place, above = os.path.dirname(place), place


def make_home(home: str) -> str:
    """Make it on first use: for its owner alone, and out of git's sight."""
    if os.path.isdir(home):
        check_place(home)
        return home
    try:
        os.makedirs(home, mode=0o700)
    except OSError as error:
        raise StoreError(
            f"Could not make {home}",
            error.strerror or str(error),
            ("Set HEADCOUNT_HOME to a directory that you may write to",),
            code="store-io",
        ) from error
    git_dir = f"{os.path.dirname(home)}/.git"
    if os.path.isdir(git_dir):
        from headcount.workspace.repository import keep_out

        keep_out(git_dir, f"/{NAME}/")
    write_place(home)
    return home


def _is_workspace(place: str) -> bool:
    """Whether headcount made this linked worktree, by the reason of its lock (`workspace.worktrees`)."""
    git_dir = _linked_git_dir(place)
    try:
        with open(f"{git_dir}/locked", encoding="utf-8", errors="surrogateescape") as file:
            return file.read().startswith("headcount ")
    except OSError:
        return False


def _linked_git_dir(place: str) -> str:
    """What the `.git` file of a linked worktree names; "" where there is none."""
    git = f"{place}/.git"
    if not os.path.isfile(git):
        return ""
    with open(git, encoding="utf-8", errors="surrogateescape") as file:
        return os.path.join(place, file.read().partition("gitdir: ")[2].strip())


def _main_repository(place: str) -> str | None:
    """The directory whose `.git` this is: for a linked worktree that of the main repository."""
    git = f"{place}/.git"
    if is_git_directory(git):
        return place
    if git_dir := _linked_git_dir(place):
        try:
            with open(f"{git_dir}/commondir", encoding="utf-8", errors="surrogateescape") as file:
                common = os.path.realpath(os.path.join(git_dir, file.read().strip()))
        except FileNotFoundError:
            return place  # a submodule: a repository of its own
        return os.path.dirname(common) if os.path.basename(common) == ".git" else common
    bare = os.path.isfile(f"{place}/HEAD") and os.path.isdir(f"{place}/objects")
    return place if bare and os.path.isdir(f"{place}/refs") else None


def is_git_directory(path: str) -> bool:
    """Whether git would take the folder for a repository. An empty one named `.git` is none."""
    return (
        os.path.isfile(f"{path}/HEAD") and os.path.isdir(f"{path}/objects") and os.path.isdir(f"{path}/refs")
    )
