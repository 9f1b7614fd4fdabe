"""Install the real clients from npm, each into a folder of its own: ``python -m tests.clients.install [CLIENT ...]``.

The versions are pinned, those of Node and npm, too: an older Node makes npm leave parts out without a word. No install
script is run but the one that puts Claude Code's program into its place.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CACHE = Path(os.environ.get("BREAKER_CLIENTS") or ROOT / ".cache" / "clients")

MACHINE = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
NODE_PACKAGE = f"node-bin-darwin-{MACHINE}" if sys.platform == "darwin" else f"node-linux-{MACHINE}"
_DSH = ROOT / "tests" / "data" / "captures" / "dsh" / "package.json"
NODE = CACHE / "node" / "node_modules" / NODE_PACKAGE / "bin" / "node"
"""What runs npm and the clients."""
PACKAGES: Mapping[str, Mapping[str, str]] = {
    "node": {NODE_PACKAGE: "22.23.3", "npm": "11.19.1"},
    "claude-code": {"@anthropic-ai/claude-code": "2.1.332"},
    "codex": {"@openai/codex": "0.171.0"},
    "gemini-cli": {"@google/gemini-cli": "0.61.0"},
    "opencode": {"opencode-ai": "1.18.33"},
    "dsh": json.loads(_DSH.read_text())["dependencies"],
}
"""What each client is made of. DSH's parts do not boot in newer versions."""
AFTERWARDS: Mapping[str, str] = {"claude-code": "node_modules/@anthropic-ai/claude-code/install.cjs"}
"""A script that is run after all, for it does nothing but put a program into its place."""
AS_OF = "2026-12-01"
"""What the clients are made of is taken as it was on this day, what their packages only give a range for, too."""
OPTIONS = (
    *("--ignore-scripts", "--no-audit", "--no-fund", "--legacy-peer-deps", "--loglevel=error"),
    f"--before={AS_OF}",
)


def install(client: str) -> None:
    """Install a client, unless it is there in these versions."""
    folder = CACHE / client
    wanted = json.dumps({"private": True, "dependencies": PACKAGES[client]}, indent=1)
    done = folder / ".installed"
    if done.exists() and done.read_text() == wanted:
        print(f"{client}: there already")
        return
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "package.json").write_text(wanted)
    print(f"{client}: npm install", flush=True)
    environment = os.environ | {"PATH": path()}
    subprocess.run([*_npm(client), "install", *OPTIONS], cwd=folder, env=environment, check=True)
    if script := AFTERWARDS.get(client):
        subprocess.run([NODE, script], cwd=folder, env=environment, check=True)
    done.write_text(wanted)


def path() -> str:
    """Where programs are looked for: our Node before any other."""
    return f"{NODE.parent}{os.pathsep}{os.environ['PATH']}"


def _npm(client: str) -> tuple[str, ...]:
    """The npm that is here brings the one that brings all the others."""
    if client != "node":
        return str(NODE), str(CACHE / "node" / "node_modules" / "npm" / "bin" / "npm-cli.js")
    found = shutil.which("npm")
    if not found:
        sys.exit("The clients cannot be installed: there is no npm here. Install Node.js, which brings it.")
    return (found,)


if __name__ == "__main__":
    for name in dict.fromkeys(("node", *(sys.argv[1:] or PACKAGES))):
        install(name)
