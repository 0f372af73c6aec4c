"""Commands and files without a process or a disk. They pass the same conformance suites as the real ones."""

from __future__ import annotations

import errno
from collections.abc import Callable, Mapping, Sequence
from subprocess import CompletedProcess


class FakeCommands:
    """Understands `exit N`, `echo TEXT` and `sleep N`; `on_call` may raise, and True makes a command fail."""

    def __init__(self, on_call: Callable[[str], bool] = lambda name: False) -> None:
        self._on_call = on_call
        self._ending = False

    def run(
        self,
        command: str | Sequence[str],
        *,
        cwd: str,
        timeout_s: float,
        given: str | None = None,
        env: Mapping[str, str] | None = None,
        together: bool = False,
        tell: Callable[[bytes], object] | None = None,
        as_operator: bool = False,
    ) -> CompletedProcess[str]:
        failing = self._on_call("run")
        if self._ending:
            raise InterruptedError(errno.EINTR, "the engine leaves")
        argv = command.split() if isinstance(command, str) else list(command)
        code, output = self._perform(argv, timeout_s, shell=isinstance(command, str))
        if tell is not None:
            tell(output.encode())
        return CompletedProcess(argv, 1 if failing else code, output, "")

    def _perform(self, argv: list[str], timeout_s: float, *, shell: bool) -> tuple[int, str]:
        match argv:
            case ["exit", code]:
                return int(code), ""
            case ["true"]:
                return 0, ""
            case ["echo", *words]:
                return 0, " ".join(words) + "\n"
            case ["sleep", seconds]:
                if float(seconds) > timeout_s:
                    raise TimeoutError(f"it took more than {timeout_s:g} s")
                return 0, ""
        if shell:
            return 127, ""
        raise FileNotFoundError(errno.ENOENT, "No such file or directory", argv[0])

    def end(self) -> None:
        self._ending = True


class FakeFiles:
    """Directories exist as soon as something is in them, and `home` always does."""

    def __init__(self, home: str = "/home", on_call: Callable[[str], bool] = lambda name: False) -> None:
        self.home = home
        self.contents: dict[str, bytes] = {}
        self._on_call = on_call

    def exists(self, path: str) -> bool:
        return path in self.contents or self.is_directory(path)

    def is_directory(self, path: str) -> bool:
        return path == self.home or any(name.startswith(f"{path}/") for name in self.contents)

    def write(self, path: str, data: bytes, *, sync: bool = True) -> None:
        self._call("write file")
        self.contents[path] = data

    def append(self, path: str, data: bytes) -> None:
        self.contents[path] = self.contents.get(path, b"") + data

    def write_directory(self, path: str, files: Mapping[str, bytes]) -> None:
        self._call("write directory")
        self.contents.update({f"{path}/{name}": data for name, data in files.items()})

    def move_directory(self, source: str, target: str) -> None:
        self._call("move directory")
        if not self.is_directory(source) or self.is_directory(target):
            return
        for name in [name for name in self.contents if name.startswith(f"{source}/")]:
            self.contents[target + name.removeprefix(source)] = self.contents.pop(name)

    def keep_only(self, directory: str, kept: Sequence[str]) -> None:
        self._call("keep only")
        spared = tuple(f"{directory}/{name}" for name in kept)
        for path in [path for path in self.contents if path.startswith(f"{directory}/")]:
            if not any(path == one or path.startswith(f"{one}/") for one in spared):
                del self.contents[path]

    def _call(self, name: str) -> None:
        if self._on_call(name):
            raise OSError(errno.ENOSPC, "No space left on device")
