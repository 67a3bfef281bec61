"""Every pitfall of the model as a mutant: one piece of text replaced in a copy of the package, killed by a named test.

    python tests/mutants.py [WORD …]      only the mutants whose name contains one of the words

A mutant survives, and the run fails, where its test still passes; a mutant whose text no longer occurs exactly
once fails loudly, so that none goes stale; the named tests must pass without any mutation. Without words, a whole set
of tests as a student might hand it in (`checking/student_tests.py`) is graded too: it notices every pitfall.
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

from neuralgram.checking.grading import grade_tests
from neuralgram.errors import InputError
from neuralgram.pitfalls import PITFALLS, Edit, apply

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "neuralgram"

NETWORK, CONTRACT = "tests/neural/test_nplm.py::", "tests/neural/test_contract.py::"
TRAINING, KERNELS = "tests/training/test_train_nplm.py::", "tests/neural/test_kernels.py::"
REFERENCE, INITIAL = "tests/neural/test_reference.py::", "tests/neural/test_initial.py::"

# The pitfalls of the model, which the package itself knows, each with the test that kills it.
KILLERS = {
    "table-outside-graph": NETWORK + "test_gradients_equal_differences_in_every_parameter[direct]",
    "newest-first": NETWORK + "test_three_letters_forward",
    "direct-not-added": NETWORK + "test_three_letters_forward",
    "generator-restarted": INITIAL + "test_one_stream_draws_the_layers_in_order",
    "targets-shifted": CONTRACT + "test_nll_is_the_cross_entropy_of_each_window",
    "prompt-start": CONTRACT + "test_only_the_last_window_of_a_prompt_counts",
    "optimiser-renewed": TRAINING + "test_it_is_the_loop_of_the_equations[0.9-0.0-None-True]",
    "one-epoch": TRAINING + "test_exactly_as_many_steps_as_asked_over_epochs_of_one_batch",
    "direct-not-saved": NETWORK + "test_state_and_config_make_the_same_model_again[direct]",
    "ties-highest": CONTRACT + "test_ties_go_to_the_lowest_id",
    "clip-ignored": TRAINING + "test_clipping_bites",
    "perplexity-in-nats": CONTRACT + "test_perplexity_of_a_half_and_a_quarter",
    "decay-on-biases": TRAINING + "test_weight_decay_never_touches_a_bias",
    "gradient-not-averaged": TRAINING + "test_it_is_the_loop_of_the_equations[0.0-0.0-None-True]",
    "repeats-overwritten": NETWORK + "test_gradients_equal_differences_in_every_parameter[direct]",
    "output-large": INITIAL + "test_first_loss_is_log_V[options0-26]",
}


class Mutant(NamedTuple):
    """`edits` are made in a copy of the package; `test` must fail then."""

    name: str
    edits: tuple[Edit, ...]
    test: str


# What else must not go unnoticed: the same faults in other places, and those of the reference and the kernel.
OTHERS = [
    Mutant(
        "the table of products is read newest first",
        (Edit("neural/rows.py", "rows_Bc = ids_Bc +", "rows_Bc = ids_Bc.flip(1) +"),),
        "tests/neural/test_first_layer.py::test_the_table_gives_the_same_layer_and_gradients[options1]",
    ),
    Mutant(
        "hidden units start saturated",
        (Edit("neural/nplm.py", "limit = 1 / (bound * math.sqrt(X / 3))", "limit = 1.0"),),
        "tests/neural/test_initial.py::test_no_hidden_unit_is_saturated_at_the_start[options0]",
    ),
    Mutant(
        "dropout is still on while scoring",
        (
            Edit(
                "neural/nplm.py",
                "return _numpy(self.out.nll(self._features(ids_Bc),",
                "return _numpy(self.out.nll(self._features(ids_Bc, torch.Generator()),",
            ),
        ),
        CONTRACT + "test_scoring_and_generating_ignore_dropout_and_mode[False]",
    ),
    Mutant(
        "dropout goes by the mode",
        (
            Edit(
                "neural/nplm.py",
                "a_BH = _drop(self.activation(pre_BH), s.dropout, rng)",
                "a_BH = _drop(self.activation(pre_BH), s.dropout, rng if self.training else None)",
            ),
        ),
        "tests/neural/test_dropout.py::test_dropout_is_drawn_by_the_loss_alone_whatever_the_mode[dropout]",
    ),
    Mutant(
        "ids below zero read the table's last rows",
        (Edit("neural/nplm.py", "if low < 0 or high >= vocab_size:", "if high >= vocab_size:"),),
        CONTRACT + "test_ids_outside_the_vocabulary_are_refused[ids3]",
    ),
    Mutant(
        "the generator is made anew for every token",
        (Edit("sampling.py", "self._rng.uniform()", 'generator(0, "sampling").uniform()'),),
        CONTRACT + "test_the_draw_is_the_published_generator_over_running_sums",
    ),
    Mutant(
        "the reference does not average",
        (
            Edit(
                "neural/reference.py",
                "        g_y /= math.prod(f.ids.shape[:-1])",
                "        pass",
            ),
        ),
        REFERENCE + "test_gradients_equal_differences_where_a_word_repeats[False]",
    ),
    Mutant(
        "repeated words are not accumulated",
        (
            Edit(
                "neural/reference.py",
                'np.add.at(grads["emb.weight"], f.ids.ravel(), g_x.reshape(f.ids.size, -1))',
                'grads["emb.weight"][f.ids.ravel()] = g_x.reshape(f.ids.size, -1)',
            ),
        ),
        REFERENCE + "test_gradients_equal_differences_where_a_word_repeats[False]",
    ),
    Mutant(
        "only the last block's gradient is kept",
        (Edit("neural/kernels.py", "beta=0 if first else 1", "beta=0"),),
        KERNELS + "test_loss_and_gradients_equal_the_whole_logits[processor-uniform-37-101-widths2-5]",
    ),
    Mutant(
        "an upstream gradient that differs is read as uniform",
        (Edit("neural/kernels.py", "bool((upstream_B == upstream_B[0]).all())", "True"),),
        KERNELS + "test_loss_and_gradients_equal_the_whole_logits[processor-different-37-101-widths2-5]",
    ),
    Mutant(
        "the target is not subtracted",
        (Edit("neural/kernels.py", "p_target_R1 - 1)", "p_target_R1)"),),
        KERNELS + "test_loss_and_gradients_equal_the_whole_logits[processor-uniform-37-101-widths2-5]",
    ),
]
MUTANTS = [Mutant(name, PITFALLS[name].edits, KILLERS[name]) for name in PITFALLS] + OTHERS


def test(tests: list[str], source: Path) -> subprocess.CompletedProcess[str]:
    """The named tests with the package found in `source`."""
    env = {**os.environ, "PYTHONPATH": str(source), "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", "-x", "-q", *tests]
    return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)


def judge(mutant: Mutant) -> str:
    """'killed', or what went wrong."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder)
        shutil.copytree(SOURCE, source / "neuralgram", ignore=shutil.ignore_patterns("__pycache__"))
        try:
            apply(mutant, source / "neuralgram")
        except InputError as stale:
            return str(stale)
        result = test([mutant.test], source)
    if result.returncode == 1:  # a failing test; 2 and more mean that nothing was tested
        return "killed"
    return "SURVIVED" if result.returncode == 0 else f"no test ran:\n{result.stdout}{result.stderr}"


def unnoticed() -> list[str]:
    """The pitfalls that a student's whole set of tests does not fail on."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(ROOT / "tests" / "checking" / "student_tests.py", Path(folder) / "test_mine.py")
        grade = grade_tests(Path(folder), "my_nplm", seconds=300)
    return [name for name in PITFALLS if name not in grade.killed]


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
    left = [] if words else unnoticed()
    if not words:
        print(f"a student's tests notice {len(PITFALLS) - len(left)} of {len(PITFALLS)} pitfalls", *left)
    return int(killed != len(chosen) or bool(left))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
