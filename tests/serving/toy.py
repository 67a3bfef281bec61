"""The command with one view more in the explorer: one file, and one line in the family."""

from __future__ import annotations

from nicegui import ui

from neuralgram.families import VIEWS
from neuralgram.serving.explorer.address import Look
from neuralgram.serving.explorer.shell import Shell, View


class Toy(View):
    """How many updates there were, in a colour that the address has."""

    title = "A toy"
    tour = "Here the updates are counted."
    looks = (Look("colour", 9),)

    def __init__(self, shell: Shell) -> None:
        self.shell = shell
        self._said = ui.label()
        ui.button("Paint it green", on_click=lambda: self._paint("green"))

    def _paint(self, colour: str) -> None:
        self.shell.look("colour", colour)
        self.refresh()

    def refresh(self) -> None:
        run = self.shell.session.run
        self._said.set_text(f"{run.step if run else 0} {self.shell.looks.get('colour', 'grey')} updates")


if __name__ == "__main__":
    from neuralgram.cli import main

    VIEWS["toy"] = "tests.serving.toy:Toy"
    main()
