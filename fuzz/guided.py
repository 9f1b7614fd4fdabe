"""A target fed by atheris, which keeps every input that reaches code no other had reached.

``python -m fuzz.guided TARGET SECONDS CORPUS FINDINGS``. Ends with a status other than 0 at the first finding,
whose input it leaves in FINDINGS. Needs the extra ``fuzz``.
"""

from __future__ import annotations

import sys
from pathlib import Path

import atheris  # type: ignore[import-untyped]

with atheris.instrument_imports(include=["engine"]):
    from fuzz.mutation import BYTES_MOST
    from fuzz.targets import TARGETS

UNIT_SECONDS = 20
MEMORY_MB = 4096


def main(name: str, seconds: str, corpus: str, findings: str) -> None:
    """Does not return: libFuzzer ends the process."""
    target = TARGETS[name]
    begin = Path(corpus).with_name(f"{name} from")
    for directory in (Path(corpus), Path(findings), begin):
        directory.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(target.seeds()):
        (begin / f"{number}").write_bytes(seed)
    words = begin.with_name(f"{name} words")
    words.write_text("\n".join(f'"{_escaped(piece)}"' for piece in target.pieces if piece))
    options = [
        *(f"-max_total_time={seconds}", f"-max_len={BYTES_MOST}", f"-timeout={UNIT_SECONDS}", f"-dict={words}"),
        *(f"-rss_limit_mb={MEMORY_MB}", f"-artifact_prefix={findings}/", "-print_final_stats=1"),
    ]
    atheris.Setup([sys.argv[0], *options, corpus, str(begin)], target.check)
    atheris.Fuzz()


def _escaped(piece: bytes) -> str:
    return "".join(f"\\x{byte:02x}" for byte in piece)


if __name__ == "__main__":
    main(*sys.argv[1:])
