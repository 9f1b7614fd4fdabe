"""Configurations from outside: found, read, checked as a whole, merged over the defaults.

Which files are in force, later over earlier, one level deep for ``limits``, ``hostAliases`` and ``ignoreArgs``:

1. the defaults;
2. the user's file, ``config.yaml`` in the user's configuration directory;
3. the project's file, ``.breaker.yaml`` in the working directory or above it in the same repository,
   **only if the user's file trusts its directory**.

A file named with ``--config`` or ``$BREAKER_CONFIG`` takes the place of 2 and 3.

Why a project's file is not simply read: the agent that is guarded works in the project and can write there, often
there alone, for its sandbox protects the rest. A file it can write must not decide how it is guarded. So

* an operator says once, outside of the project, which projects may bring a configuration (``trustedProjects`` in
  the user's file; a directory covers those below it), and is told of a file that was found and not read;
* whatever a project's file loosens is told each time it is read;
* while the guard is running, a change to a project's file that loosens the guard is shown and not taken into
  force (``engine.configuration.reload``): the operator who means it starts the guard again;
* a project's file that appears while the guard is running is not looked for.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from engine.config import DEFAULTS, Config
from engine.configuration.layer import TABLES, ConfigError, Layer, Problem, Role, checked, read_data, read_file
from engine.configuration.report import printable
from engine.configuration.thresholds import loosened
from engine.configuration.yaml import Document
from engine.paths import config_directory

__all__ = [
    "ConfigError",
    "Layers",
    "Loaded",
    "Problem",
    "Sources",
    "find",
    "from_mapping",
    "load",
    "load_data",
    "merged",
]

CONFIG_VARIABLE = "BREAKER_CONFIG"
USER_NAMES = ("config.yaml", "config.yml")
PROJECT_NAMES = (".breaker.yaml", ".breaker.yml")
_FIELDS = dict(zip(Config.__struct_encode_fields__, Config.__struct_fields__, strict=True))


class Layers(Struct, frozen=True):
    """What the files in force say. ``trusting``: the user's file trusts the project's, whether it is there or not."""

    base: Layer | None = None
    project: Layer | None = None
    trusting: bool = False

    def config(self) -> Config:
        """All layers over the defaults."""
        return merged(*(layer.settings for layer in (self.base, self.project) if layer))

    def loosened(self) -> tuple[str, ...]:
        """What the project's file takes from the guard that the layers below it make."""
        return loosened(Layers(self.base).config(), self.config()) if self.project else ()


class Sources(Struct, frozen=True):
    """The files that make up the configuration: either ``named``, or ``user`` and ``project``."""

    named: Path | None = None
    user: Path | None = None
    project: Path | None = None

    @property
    def files(self) -> tuple[Path, ...]:
        return tuple(file for file in (self.named, self.user, self.project) if file)

    def read(self) -> Layers:
        """Read the files as they are now. A file that was named must be there, the others may not.

        Raises ConfigError with everything wrong in all of them.
        """
        if self.named:
            return Layers(read_file(self.named, "named"))
        problems: list[Problem] = []
        user = _read_if_there(self.user, "user", problems)
        trusting = bool(user and self.project and _trusted(self.project, user.trusted_projects))
        project = _read_if_there(self.project, "project", problems) if trusting else None
        if problems:
            raise ConfigError(tuple(problems))
        return Layers(user, project, trusting)

    def load(self) -> Loaded:
        """Read the files and merge them over the defaults. Raises ConfigError."""
        return self.loaded(self.read())

    def loaded(self, layers: Layers) -> Loaded:
        """The configuration that these layers make."""
        read = [layer for layer in (layers.base, layers.project) if layer]
        warnings = [warning for layer in read for warning in layer.warnings]
        if layers.project:
            source = printable(layers.project.source, 4096)
            warnings += [f"{source} loosens the guard: {change}." for change in layers.loosened()]
        elif self.project and not layers.trusting and _is_there(self.project):
            warnings.append(_not_trusted(self.project, self.user))
        return Loaded(
            config=layers.config(),
            source=", ".join(printable(layer.source, 4096) for layer in read) or "defaults",
            warnings=tuple(warnings),
            origins={key: origin for layer in read for key, origin in layer.origins.items()},
            sources=self,
            layers=layers,
        )


class Loaded(Struct, frozen=True):
    """A configuration in force and where it comes from.

    ``origins`` names, for each key that a file sets (``window``, ``limits.exact``), the file and line; a key that
    is not in it has its default. ``warnings`` are lines for a person, printable. ``sources`` and ``layers`` are what
    a change of the files is measured against.
    """

    config: Config
    source: str = "defaults"
    warnings: tuple[str, ...] = ()
    origins: Mapping[str, str] = {}
    sources: Sources = Sources()
    layers: Layers = Layers()


def find(named: Path | None = None, directory: Path | None = None) -> Sources:
    """Where the configuration is: the file named, else ``$BREAKER_CONFIG``, else the user's and the project's.

    ``directory``: where the project is looked for; the working directory by default. A file may not be there yet.
    """
    if named is None and os.environ.get(CONFIG_VARIABLE):
        named = Path(os.environ[CONFIG_VARIABLE])
    if named is not None:
        return Sources(named=named.absolute())
    return Sources(user=_first_of(config_directory(), USER_NAMES), project=_find_project(directory))


def load(path: Path) -> Loaded:
    """Read one file, merged over the defaults. Raises ConfigError."""
    return Sources(named=path).load()


def load_data(data: bytes, source: str) -> Loaded:
    """Read a configuration that is not in a file of its own. Raises ConfigError."""
    return Sources().loaded(Layers(read_data(data, source, "named")))


def from_mapping(mapping: object, source: str = "configuration") -> Config:
    """A configuration from plain values, merged over the defaults. Raises ConfigError with everything wrong in it."""
    return merged(checked(Document(mapping, {}, {}, ()), source, "named").settings)


def merged(*layers: Mapping[str, Any]) -> Config:
    """Settings as ``read_settings`` gives them, each layer over the ones before it, all over the defaults."""
    values: dict[str, Any] = {}
    for layer in layers:
        for key, value in layer.items():
            below = values.get(key, getattr(DEFAULTS, _FIELDS[key]))
            values[key] = {**below, **value} if key in TABLES else value
    return Config(**{_FIELDS[key]: value for key, value in values.items()})


def _read_if_there(path: Path | None, role: Role, problems: list[Problem]) -> Layer | None:
    if path is None or not _is_there(path):
        return None
    try:
        return read_file(path, role)
    except ConfigError as error:
        problems.extend(error.problems)
        return None


def _is_there(path: Path) -> bool:
    """Whether something stands there, were it a link to nowhere; what cannot be looked at is not there for us."""
    try:
        path.lstat()
    except OSError:
        return False
    return True


def _first_of(directory: Path, names: tuple[str, ...]) -> Path:
    """The first of these names that is there; the first of all when none is."""
    return next((path for name in names if _is_there(path := directory / name)), directory / names[0])


def _find_project(directory: Path | None) -> Path | None:
    """The project's file: in the directory, or above it as far as the root of its repository."""
    try:
        start = directory or Path.cwd()
    except OSError:  # the working directory is gone
        return None
    directories = (start, *start.parents)
    root = next((one for one in directories if _is_there(one / ".git")), start)
    within = directories[: directories.index(root) + 1]
    return next((file for one in within if _is_there(file := _first_of(one, PROJECT_NAMES))), None)


def _trusted(project: Path, trusted: tuple[str, ...]) -> bool:
    """Whether the project's directory is one of these or below one; a path that cannot be followed trusts nothing."""
    for one in trusted:
        try:
            if project.parent.resolve().is_relative_to(Path(one).expanduser().resolve()):
                return True
        except (OSError, RuntimeError, ValueError):
            continue
    return False


def _not_trusted(project: Path, user_file: Path | None) -> str:
    return (
        f"{printable(str(project), 4096)} is not read: the agent can write it. To read it, put "
        f"trustedProjects: ['{printable(str(project.parent), 4096)}'] into {printable(str(user_file), 4096)}."
    )
