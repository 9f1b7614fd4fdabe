"""Install the real clients from npm, each into a folder of its own: ``python -m tests.clients.install [CLIENT ...]``.

The versions are pinned. No install script is run but the one that puts Claude Code's program into its place.
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
PACKAGES: Mapping[str, Mapping[str, str]] = {
    "claude-code": {"@anthropic-ai/claude-code": "2.1.332"},
    "codex": {"@openai/codex": "0.171.0"},
    "gemini-cli": {"@google/gemini-cli": "0.61.0"},
    "opencode": {"opencode-ai": "1.18.33"},
    "dsh": json.loads(_DSH.read_text())["dependencies"] | {NODE_PACKAGE: "22.23.3"},
}
"""What each client is made of. DSH's parts do not boot in newer versions, and need a Node of their own."""
AFTERWARDS: Mapping[str, tuple[str, ...]] = {
    "claude-code": ("node", "node_modules/@anthropic-ai/claude-code/install.cjs"),
}
"""A script that is run after all, for it does nothing but put a program into its place."""


def install(client: str) -> None:
    """Install a client, unless it is there in these versions."""
    folder = CACHE / client
    wanted = json.dumps({"private": True, "dependencies": PACKAGES[client]}, indent=1)
    described = folder / "package.json"
    done = folder / ".installed"
    if done.exists() and done.read_text() == wanted:
        print(f"{client}: there already")
        return
    if not shutil.which("npm"):
        sys.exit(f"{client} cannot be installed: there is no npm here. Install Node.js, which brings it.")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    described.write_text(wanted)
    print(f"{client}: npm install", flush=True)
    options = ["--ignore-scripts", "--no-audit", "--no-fund", "--legacy-peer-deps", "--loglevel=error"]
    subprocess.run(["npm", "install", *options], cwd=folder, check=True)
    if script := AFTERWARDS.get(client):
        subprocess.run(script, cwd=folder, check=True)
    done.write_text(wanted)


if __name__ == "__main__":
    for name in sys.argv[1:] or PACKAGES:
        install(name)
