"""Options that several commands have."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

Function = TypeVar("Function", bound=Callable[..., Any])


def socket_option(what: str) -> Callable[[Function], Function]:
    """``--socket``, as the parameter ``path``; ``what`` is the sentence that says what is looked for there."""
    text = f"{what} Default: $BREAKER_SOCKET, else in the runtime directory."
    return click.option("--socket", "path", type=click.Path(path_type=Path), help=text)
