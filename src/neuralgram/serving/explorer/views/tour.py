"""A short tour: one thing to do in each view."""

from __future__ import annotations

from nicegui import ui

from neuralgram.serving.explorer.shell import TITLES, Shell

STOPS = (
    (
        "train",
        "Press Play. The blue curve is the loss on the text the network trains on, the red one on text it never sees. "
        "Both start at log V, what a model has that knows nothing, and fall. Rewind brings back the very same start.",
    ),
    (
        "inside",
        "Here is one prediction as numbers, from the words on the left to the probabilities on the right; every wire "
        "is a weight. Change a word. Open any number or wire: it shows its formula with its own inputs filled in.",
    ),
    (
        "vectors",
        "Every token is a row of C, a point. Play, and watch tokens that are used alike move together.",
    ),
    (
        "animals",
        "No sheep ever eats in this text. An n-gram must guess what it would eat from all eaters; the network has put "
        "the sheep beside the cow and the goat.",
    ),
    (
        "read",
        "Paste a sentence and see which tokens surprised each model. Then let it write, and turn the temperature.",
    ),
)


def show(shell: Shell, place: ui.column, stop: int) -> None:
    """Show stop number `stop` at `place`; past the last one, the tour ends."""
    place.clear()
    if not 0 <= stop < len(STOPS):
        return
    view, text = STOPS[stop]
    shell.open(view)
    with place, ui.element("section").classes("card").props('aria-label="tour"'):
        ui.label(f"Tour {stop + 1} of {len(STOPS)} · {TITLES[view]}").style("font-weight: 600")
        ui.label(text).style("max-width: 75ch").props('role="status"')
        with ui.row():
            if stop:
                ui.button("Back", on_click=lambda: show(shell, place, stop - 1)).props("dense no-caps flat")
            last = stop == len(STOPS) - 1
            ui.button("Finish" if last else "Next", on_click=lambda: show(shell, place, stop + 1)).props(
                "dense no-caps unelevated"
            )
            if not last:
                ui.button("Leave the tour", on_click=place.clear).props("dense no-caps flat")
