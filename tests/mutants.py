"""Every pitfall of the model as a mutant: one piece of text replaced in a copy of the package, killed by a named test.

    python tests/mutants.py [WORD …]      only the mutants whose name contains one of the words

A mutant survives, and the run fails, where its test still passes; a mutant whose text no longer occurs exactly
once fails loudly, so that none goes stale; the named tests must pass without any mutation.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "neuralgram"

NETWORK, CONTRACT = "tests/neural/test_nplm.py::", "tests/neural/test_contract.py::"
TRAINING, KERNELS = "tests/training/test_train_nplm.py::", "tests/neural/test_kernels.py::"
REFERENCE = "tests/neural/test_reference.py::"


class Mutant(NamedTuple):
    """`search` in `file` becomes `replace`; `test` must fail then."""

    name: str
    file: str
    search: str
    replace: str
    test: str


MUTANTS = [
    # The network
    Mutant(
        "the table is read outside the graph",
        "neural/nplm.py",
        "x_BX = take(self.emb.weight, ids_Bc)",
        "x_BX = take(self.emb.weight.detach(), ids_Bc)",
        NETWORK + "test_gradients_equal_differences_in_every_parameter[direct]",
    ),
    Mutant(
        "the table of products is read outside the graph",
        "neural/first_layer.py",
        "(C_Vm @ H_hX",
        "(C_Vm.detach() @ H_hX",
        "tests/neural/test_first_layer.py::test_the_table_gives_the_same_layer_and_gradients[options1]",
    ),
    Mutant(
        "the window is read newest first",
        "neural/nplm.py",
        "x_BX = take(self.emb.weight, ids_Bc)",
        "x_BX = take(self.emb.weight, ids_Bc.flip(1))",
        NETWORK + "test_three_letters_forward",
    ),
    Mutant(
        "the table of products is read newest first",
        "neural/first_layer.py",
        "rows_Bc = ids_Bc +",
        "rows_Bc = ids_Bc.flip(1) +",
        "tests/neural/test_first_layer.py::test_the_table_gives_the_same_layer_and_gradients[options1]",
    ),
    Mutant(
        "the direct path is never added",
        "neural/nplm.py",
        "torch.cat([a_BH, x_BX], 1)",
        "torch.cat([a_BH, 0 * x_BX], 1)",
        NETWORK + "test_three_letters_forward",
    ),
    Mutant(
        "one generator is restarted for every layer",
        "neural/initial.py",
        "rng.uint32s(rows",
        "PCG32(0).uint32s(rows",
        "tests/neural/test_initial.py::test_one_stream_draws_the_layers_in_order",
    ),
    Mutant(
        "the output layer starts large",
        "neural/initial.py",
        "_SMALL = 0.1",
        "_SMALL = 10.0",
        "tests/neural/test_initial.py::test_first_loss_is_log_V[options0-26]",
    ),
    Mutant(
        "hidden units start saturated",
        "neural/nplm.py",
        "limit = 1 / (bound * math.sqrt(X / 3))",
        "limit = 1.0",
        "tests/neural/test_initial.py::test_no_hidden_unit_is_saturated_at_the_start[options0]",
    ),
    Mutant(
        "dropout is still on while scoring",
        "neural/nplm.py",
        "return _numpy(self.out.nll(self._features(ids_Bc),",
        "return _numpy(self.out.nll(self._features(ids_Bc, torch.Generator()),",
        CONTRACT + "test_scoring_and_generating_ignore_dropout_and_mode[False]",
    ),
    Mutant(
        "dropout goes by the mode",
        "neural/nplm.py",
        "a_BH = _drop(ACTIVATIONS[s.activation](pre_BH), s.dropout, rng)",
        "a_BH = _drop(ACTIVATIONS[s.activation](pre_BH), s.dropout, rng if self.training else None)",
        "tests/neural/test_dropout.py::test_dropout_is_drawn_by_the_loss_alone_whatever_the_mode[dropout]",
    ),
    Mutant(
        "ids below zero read the table's last rows",
        "neural/nplm.py",
        "if low < 0 or high >= vocab_size:",
        "if high >= vocab_size:",
        CONTRACT + "test_ids_outside_the_vocabulary_are_refused[ids3]",
    ),
    Mutant(
        "the direct matrix is not saved",
        "neural/nplm.py",
        "for name, tensor in self.state_dict().items()}",
        'for name, tensor in self.state_dict().items() if name != "direct.weight"}',
        NETWORK + "test_state_and_config_make_the_same_model_again[direct]",
    ),
    Mutant(
        "decay falls on biases too",
        "neural/nplm.py",
        'if name.endswith("bias")], "weight_decay": 0.0}',
        'if name.endswith("bias")], "weight_decay": weight_decay}',
        TRAINING + "test_weight_decay_never_touches_a_bias",
    ),
    # Windows, scoring, generating
    Mutant(
        "targets are the last token of their own window",
        "text/windows.py",
        "return tokens[:, :-1], tokens[:, -1]",
        "return tokens[:, :-1], tokens[:, -2]",
        CONTRACT + "test_nll_is_the_cross_entropy_of_each_window",
    ),
    Mutant(
        "targets of `windows` are shifted",
        "text/windows.py",
        "view[:, -1].copy()",
        "view[:, -2].copy()",
        "tests/test_windows.py::test_the_hand_example",
    ),
    Mutant(
        "generation starts from the first ids of the prompt",
        "lm.py",
        "ids[len(ids) - self.context :]",
        "ids[: self.context]",
        CONTRACT + "test_only_the_last_window_of_a_prompt_counts",
    ),
    Mutant(
        "ties go to the highest id",
        "sampling.py",
        "return int(scores.argmax())",
        "return int(len(scores) - 1 - scores[::-1].argmax())",
        CONTRACT + "test_ties_go_to_the_lowest_id",
    ),
    Mutant(
        "perplexity is the mean loss",
        "lm.py",
        "float(np.exp(np.float64(total_nats) / tokens))",
        "float(np.float64(total_nats) / tokens)",
        CONTRACT + "test_perplexity_of_a_half_and_a_quarter",
    ),
    Mutant(
        "the generator is made anew for every token",
        "sampling.py",
        "self._rng.uniform()",
        'generator(0, "sampling").uniform()',
        CONTRACT + "test_the_draw_is_the_published_generator_over_running_sums",
    ),
    # Training
    Mutant(
        "a new optimiser every epoch",
        "training/loop.py",
        "        self.optimizer.step()\n",
        "        if self.step % self.batches.per_epoch == 0:\n"
        "            self.optimizer.state.clear()\n"
        "        self.optimizer.step()\n",
        TRAINING + "test_it_is_the_loop_of_the_equations[0.9-0.0-None-True]",
    ),
    Mutant(
        "training ends with the first epoch",
        "training/loop.py",
        "stop = self.total_steps if until is None",
        "stop = min(self.total_steps, self.batches.per_epoch) if until is None",
        TRAINING + "test_exactly_as_many_steps_as_asked_over_epochs_of_one_batch",
    ),
    Mutant(
        "the clip is not passed on",
        "training/simple.py",
        "        clip=clip,\n",
        "        clip=None,\n",
        TRAINING + "test_clipping_bites",
    ),
    Mutant(
        "the batch's gradient is not averaged",
        "training/loop.py",
        "losses.sum() / self.config.batch_size",
        "losses.sum()",
        TRAINING + "test_it_is_the_loop_of_the_equations[0.0-0.0-None-True]",
    ),
    # The reference and the kernel
    Mutant(
        "the reference does not average",
        "neural/reference.py",
        "    g_y /= len(y)  # p − e_w, averaged\n",
        "",
        REFERENCE + "test_gradients_equal_differences_where_a_word_repeats[False]",
    ),
    Mutant(
        "repeated words are not accumulated",
        "neural/reference.py",
        "np.add.at(g_E, ids.ravel(), g_x.reshape(ids.size, -1))",
        "g_E[ids.ravel()] = g_x.reshape(ids.size, -1)",
        REFERENCE + "test_gradients_equal_differences_where_a_word_repeats[False]",
    ),
    Mutant(
        "only the last block's gradient is kept",
        "neural/kernels.py",
        "beta=0 if first else 1",
        "beta=0",
        KERNELS + "test_loss_and_gradients_equal_the_whole_logits[uniform-37-101-widths2-5]",
    ),
    Mutant(
        "an upstream gradient that differs is read as uniform",
        "neural/kernels.py",
        "bool((upstream_B == upstream_B[0]).all())",
        "True",
        KERNELS + "test_loss_and_gradients_equal_the_whole_logits[different-37-101-widths2-5]",
    ),
    Mutant(
        "the target is not subtracted",
        "neural/kernels.py",
        "p_target_R1 - 1)",
        "p_target_R1)",
        KERNELS + "test_loss_and_gradients_equal_the_whole_logits[uniform-37-101-widths2-5]",
    ),
]


def test(tests: list[str], source: Path) -> subprocess.CompletedProcess[str]:
    """The named tests with the package found in `source`."""
    env = {**os.environ, "PYTHONPATH": str(source), "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", "-x", "-q", *tests]
    return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)


def mutate(mutant: Mutant, source: Path) -> str:
    """Apply a mutant to the copy under `source`; what is wrong with it, or nothing."""
    path = source / "neuralgram" / mutant.file
    text = path.read_text(encoding="utf-8")
    if (found := text.count(mutant.search)) != 1:
        return f"stale: its text occurs {found} times in {mutant.file}, expected once"
    path.write_text(text.replace(mutant.search, mutant.replace), encoding="utf-8")
    return ""


def judge(mutant: Mutant) -> str:
    """'killed', or what went wrong."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder)
        shutil.copytree(SOURCE, source / "neuralgram", ignore=shutil.ignore_patterns("__pycache__"))
        if wrong := mutate(mutant, source):
            return wrong
        result = test([mutant.test], source)
    if result.returncode == 1:  # a failing test; 2 and more mean that nothing was tested
        return "killed"
    return "SURVIVED" if result.returncode == 0 else f"no test ran:\n{result.stdout}{result.stderr}"


def main(words: list[str]) -> int:
    chosen = [mutant for mutant in MUTANTS if not words or any(word in mutant.name for word in words)]
    unmutated = test(sorted({mutant.test for mutant in chosen}), SOURCE.parent)
    if unmutated.returncode:
        print(f"the named tests fail without any mutation:\n{unmutated.stdout}{unmutated.stderr}")
        return 1
    with ThreadPoolExecutor(2) as pool:
        verdicts = list(pool.map(judge, chosen))
    for mutant, verdict in zip(chosen, verdicts, strict=True):
        print(f"{verdict:10s}{mutant.name}  ({mutant.test})")
    killed = verdicts.count("killed")
    print(f"{killed} of {len(chosen)} mutants killed")
    return int(killed != len(chosen))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
