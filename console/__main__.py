"""``python -m console`` is ``breaker``."""

from console.cli import main

main(prog_name="breaker")
