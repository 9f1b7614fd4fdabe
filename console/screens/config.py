"""The configuration in force, and what the engine has said about itself."""

from __future__ import annotations

import time

from console.screens.pages import PageScreen
from console.text import visible, visible_value
from console.widgets.page import Writer

INK_OF_LEVEL = {"error": "fail", "warning": "warn"}


class ConfigScreen(PageScreen):
    """What holds now. A changed file is taken over by itself; a broken one changes nothing and is shown here."""

    def heading(self) -> str:
        return "configuration in force"

    def version(self) -> object:
        return (self.state.config_version, len(self.state.notes))

    def write(self, writer: Writer) -> None:
        config = self.state.config
        writer.fact("from", config.source or "not known")
        if config.error:
            writer.fact("not taken", config.error, "fail")
            writer.note("the file was changed and is wrong: what is below still holds")
        for warning in config.warnings:
            writer.fact("warning", warning, "warn")
        writer.heading("settings")
        for name, value in config.values.items():
            if isinstance(value, dict):
                writer.line((f"  {visible(str(name), 40)}:", ""))
                for key, one in value.items():
                    writer.text(f"{visible(str(key), 80)}: {visible_value(one, 400)}", indent=4)
            else:
                writer.text(f"{visible(str(name), 40)}: {visible_value(value, 400)}")
        writer.heading("messages of the engine, the latest first")
        for note in reversed(self.state.notes):
            clock = time.strftime("%H:%M:%S", time.localtime(note.at))
            writer.text(f"{clock}  {note.level}: {note.text}", INK_OF_LEVEL.get(note.level, ""))
