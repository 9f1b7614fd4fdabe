"""Three looks: dark, light, and the terminal's own colours.

Orange-red, amber, blue and green-blue stay apart for the colour-blind; what they say is said by a glyph and a word too.
"""

from __future__ import annotations

from textual.theme import Theme

DEFAULT = "breaker-dark"

DARK = Theme(
    name="breaker-dark",
    primary="#5cb3ff",
    secondary="#8fb8de",
    accent="#b6a1e0",
    warning="#f2b84b",
    error="#ff7a52",
    success="#58c4a8",
    foreground="#d7dce2",
    background="#10141a",
    surface="#171d25",
    panel="#202833",
    boost="#1d2937",
    dark=True,
    variables={"text-muted": "#8793a1", "footer-key-foreground": "#5cb3ff", "rule": "#39444f"},
)
LIGHT = Theme(
    name="breaker-light",
    primary="#0a66c2",
    secondary="#2f5d8a",
    accent="#6a4fb0",
    warning="#8f5a00",
    error="#b93a0e",
    success="#0b7561",
    foreground="#1d2329",
    background="#fbfbf9",
    surface="#f1f1ed",
    panel="#e3e4df",
    boost="#dbe7f3",
    dark=False,
    variables={"text-muted": "#5d6670", "footer-key-foreground": "#0a66c2", "rule": "#c3c8c4"},
)
TERMINAL = Theme(
    name="breaker-terminal",
    ansi=True,
    primary="ansi_blue",
    secondary="ansi_cyan",
    accent="ansi_magenta",
    warning="ansi_yellow",
    error="ansi_red",
    success="ansi_green",
    foreground="ansi_default",
    background="ansi_default",
    surface="ansi_default",
    panel="ansi_default",
    boost="ansi_default",
    dark=True,
    variables={
        "ansi-background": "ansi_black",
        "ansi-foreground": "ansi_white",
        "border-blurred": "ansi_default",
        "block-cursor-foreground": "ansi_black",
        "block-cursor-background": "ansi_white",
        "input-cursor-text-style": "reverse",
        "footer-key-foreground": "ansi_default",
        "text-muted": "ansi_default",
        "rule": "ansi_bright_black",
    },
)

THEMES = (DARK, LIGHT, TERMINAL)
VARIABLES = {"rule": "#7a8590"}
"""What our stylesheet wants of any theme, also of Textual's own."""
NAMES = tuple(theme.name for theme in THEMES)
SHORT = {"dark": DARK.name, "light": LIGHT.name, "terminal": TERMINAL.name}
"""What ``--theme`` takes."""
