"""What goes wrong when one writes this model: each fault with its symptom, and the edit that puts it into ours.

`neuralgram check` names these where a student's module fails; `check --tests` and `make mutants` apply their
edits to a copy of this package and ask the tests to notice. The faults are those of the documents the
package was built from; the one every set of tests must notice is `table-outside-graph`.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from neuralgram.errors import InputError

REQUIRED = "table-outside-graph"


class Edit(NamedTuple):
    """In the file `module` of the package, `search` (it stands there exactly once) becomes `replace`."""

    module: str
    search: str
    replace: str


class Pitfall(NamedTuple):
    """One fault.

    name, title  how it is called
    symptom      what one sees when it is there
    advice       what to look at
    edits        what puts it into this package
    """

    name: str
    title: str
    symptom: str
    advice: str
    edits: tuple[Edit, ...]


_NPLM, _LOOP = "neural/nplm.py", "training/loop.py"

PITFALLS: dict[str, Pitfall] = {
    pitfall.name: pitfall
    for pitfall in (
        Pitfall(
            "table-outside-graph",
            "the table C is read outside the graph",
            "every score is right, but C receives no gradient and never learns",
            "look rows up with an operation that has a backward pass, not from the raw array",
            (
                Edit(_NPLM, "take(self.emb.weight, ids_Bc)", "take(self.emb.weight.detach(), ids_Bc)"),
                Edit(
                    _NPLM,
                    "first_layer_by_table(ids_Bc, self.emb.weight,",
                    "first_layer_by_table(ids_Bc, self.emb.weight.detach(),",
                ),
            ),
        ),
        Pitfall(
            "newest-first",
            "the window is joined newest first",
            "the scores are those of the window read backwards; weights of other programs do not fit",
            "x starts with the oldest token: [B, c, m] reshaped to [B, c·m]",
            (
                Edit(
                    _NPLM,
                    "        s = self.settings\n        whole_x",
                    "        s = self.settings\n        ids_Bc = ids_Bc.flip(1)\n        whole_x",
                ),
            ),
        ),
        Pitfall(
            "direct-not-added",
            "the direct path W is never added to the scores",
            "W is there, is saved and loaded, and changes nothing",
            "y = b + W x + U a: add W x where direct is true",
            (Edit(_NPLM, "torch.cat([a_BH, x_BX], 1)", "torch.cat([a_BH, 0 * x_BX], 1)"),),
        ),
        Pitfall(
            "generator-restarted",
            "every layer draws from the start of the same generator",
            "the initial weights of the layers repeat each other",
            "make one generator and hand it from layer to layer",
            (
                Edit(
                    "neural/initial.py",
                    "torch.from_numpy(rng.uint32s(rows * columns)",
                    "torch.from_numpy(PCG32(0).uint32s(rows * columns)",
                ),
            ),
        ),
        Pitfall(
            "targets-shifted",
            "the target is the window's last token",
            "the training loss collapses: the model copies what it has just read",
            "the target of ids[i : i + c] is ids[i + c]",
            (
                Edit("text/windows.py", "view[:, -1].copy()", "view[:, -2].copy()"),
                Edit("text/windows.py", "return tokens[:, :-1], tokens[:, -1]", "return tokens[:, :-1], tokens[:, -2]"),
            ),
        ),
        Pitfall(
            "prompt-start",
            "generation reads the start of the prompt",
            "a long prompt is continued as if only its first tokens were there",
            "the window is the last c ids of the prompt",
            (Edit("lm.py", "ids[len(ids) - self.context :]", "ids[: self.context]"),),
        ),
        Pitfall(
            "optimiser-renewed",
            "the optimiser is made anew each epoch",
            "momentum is forgotten wherever an epoch ends",
            "make one optimiser before the first step and keep it",
            (
                Edit(
                    _LOOP,
                    "        contexts, targets = self.batches.batch(self.step)\n",
                    "        contexts, targets = self.batches.batch(self.step)\n"
                    "        if self.step % self.batches.per_epoch == 0:\n"
                    "            self.optimizer.state.clear()\n",
                ),
            ),
        ),
        Pitfall(
            "one-epoch",
            "training ends with the first epoch",
            "fewer steps than asked for, and nobody is told",
            "go on into the next epoch until `steps` updates are made",
            (
                Edit(
                    _LOOP,
                    "for done in trainer.run()",
                    "for done in trainer.run(trainer.batches.per_epoch)",
                ),
            ),
        ),
        Pitfall(
            "direct-not-saved",
            "the direct matrix is not saved",
            "the model cannot be loaded, or comes back with another W",
            "save every entry of the state dict",
            (
                Edit(
                    _NPLM,
                    "for name, tensor in self.state_dict().items()}",
                    'for name, tensor in self.state_dict().items() if name != "direct.weight"}',
                ),
            ),
        ),
        Pitfall(
            "ties-highest",
            "equal scores go to the highest id",
            "greedy text differs from every other program's",
            "at temperature 0 take the first of the largest scores",
            (
                Edit(
                    "sampling.py",
                    "return int(scores.argmax())",
                    "return len(scores) - 1 - int(scores[::-1].argmax())",
                ),
            ),
        ),
        Pitfall(
            "clip-ignored",
            "the bound on the gradient is not passed on",
            "one bad batch throws a long run off",
            "scale the whole gradient so that its norm is at most `clip`",
            (Edit(_LOOP, "clip=clip,", "clip=None,"),),
        ),
        Pitfall(
            "perplexity-in-nats",
            "perplexity is returned as the mean loss",
            "a perplexity near 3 that is really e³",
            "perplexity is exp of the mean loss",
            (
                Edit(
                    "lm.py",
                    "return float(np.exp(np.float64(total_nats) / tokens))",
                    "return float(np.float64(total_nats) / tokens)",
                ),
            ),
        ),
        Pitfall(
            "decay-on-biases",
            "weight decay shrinks the biases too",
            "with weight decay the biases d and b move towards 0",
            "add λ·θ to the gradients of C, H, U and W only",
            (
                Edit(
                    _NPLM,
                    'if name.endswith("bias")], "weight_decay": 0.0}',
                    'if name.endswith("bias")], "weight_decay": weight_decay}',
                ),
            ),
        ),
        Pitfall(
            "gradient-not-averaged",
            "the batch's gradient is summed, not averaged",
            "steps are B times too long, and grow with the batch",
            "divide by the number of windows in the batch",
            (Edit(_LOOP, "losses.sum() / self.config.batch_size", "losses.sum()"),),
        ),
        Pitfall(
            "repeats-overwritten",
            "a word that stands twice receives only one of its gradients",
            "rows of C that are used once are right, repeated ones are not",
            "add every block of ∂x into its row (np.add.at, not g[ids] = …)",
            (
                Edit(
                    "neural/rows.py",
                    "        return F.embedding(rows, table)\n",
                    "        taken = F.embedding(rows, table)\n"
                    "        flat = rows.flatten().tolist()\n"
                    "        last = torch.tensor([flat[i + 1 :].count(w) == 0 for i, w in enumerate(flat)])\n"
                    "        mask = last.view(*rows.shape, 1)\n"
                    "        return torch.where(mask, taken, taken.detach())\n",
                ),
            ),
        ),
        Pitfall(
            "output-large",
            "the output layer starts large",
            "the first loss is far above log V: the untrained model is sure of the wrong word",
            "start U and W small, so that the first guess is near uniform",
            (Edit("neural/initial.py", "_SMALL = 0.1 ", "_SMALL = 30.0 "),),
        ),
    )
}


def apply(pitfall: Pitfall, package: Path) -> None:
    """Put the fault into a copy of this package at `package`.

    Raises `InputError` where the text an edit looks for does not stand there exactly once.
    """
    for module, search, replace in pitfall.edits:
        path = package / module
        source = path.read_text(encoding="utf-8")
        if source.count(search) != 1:
            raise InputError(
                f"{pitfall.name}: {search!r} stands {source.count(search)} times in {module}, expected once; "
                "bring its edit in pitfalls.py up to date"
            )
        path.write_text(source.replace(search, replace), encoding="utf-8")
