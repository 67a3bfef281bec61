"""The exact softmax's loss with its gradients: over eager PyTorch, and over the three products it cannot do without.

    python -m benchmarks.loss [--rounds 9] [--threads 1 2]

V 16 384, h 100, 1 024 windows: y = U a + b, the mean of −log softmax(y)_w, and its gradients by a, U and b.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from benchmarks import peers
from benchmarks.figures import Figure
from benchmarks.harness import Setting, Sheet, parser, run, table
from neuralgram.neural import kernels
from neuralgram.numbers import spaced

V, H, B = 16_384, 100, 1024
TARGETS = {"fp32": 2.6, "bf16": 5.5}
OVER_PRODUCTS = {"fp32": 1.45, "bf16": 2.0}
Given = tuple[Tensor, Tensor, Tensor, Tensor]  # features, output vectors, biases, targets
ABOUT = (
    f"V {spaced(V)}, h {H}, {spaced(B)} windows: the mean loss and its gradients by features, output vectors and "
    "biases. The three products are y = f Jᵀ, ∂f = p J and ∂J = pᵀ f in the blocks and with the columns of the kernel, "
    "and nothing else."
)


def inputs(vocab_size: int, width: int, batch: int, device: torch.device) -> Given:
    """Features [B, F], output vectors [V, F] and biases [V] that want gradients, and targets [B]."""
    rng = torch.Generator().manual_seed(0)
    f_BF, U_VF = torch.rand(batch, width, generator=rng) * 2 - 1, torch.randn(vocab_size, width, generator=rng) * 0.3
    y_B = torch.randint(vocab_size, (batch,), generator=rng)
    b_V = torch.zeros(vocab_size)
    leaves = [tensor.to(device).requires_grad_() for tensor in (f_BF, U_VF, b_V)]
    return leaves[0], leaves[1], leaves[2], y_B.to(device)


def own(precision: str) -> peers.Loss:
    """The kernel's mean loss."""

    def loss(f_BF: Tensor, U_VF: Tensor, b_V: Tensor, y_B: Tensor) -> Tensor:
        return kernels.softmax_loss(f_BF, [U_VF], b_V, y_B, precision).mean()

    return loss


def with_gradients(loss: peers.Loss, given: Given) -> Callable[[], Tensor]:
    """One evaluation of the loss; the gradients are left in the leaves."""

    def evaluate() -> Tensor:
        for leaf in given[:3]:
            leaf.grad = None
        value = loss(*given)
        torch.autograd.backward(value)
        return value.detach()

    return evaluate


def products(given: Given, precision: str) -> Callable[[], Tensor]:
    """The three products of every block, in the kernel's blocks, columns and dtype; the last, Σ (f Jᵀ)ᵀ f [V, K]."""
    f_BF, U_VF = given[0].detach(), given[1].detach()
    (batch, width), vocab_size = f_BF.shape, len(U_VF)
    dtype = torch.bfloat16 if precision == "bf16" else torch.float32
    columns = (width + 8) // 8 * 8  # one more for the bias, then rounded up
    f_BK = f_BF.new_zeros(batch, columns, dtype=dtype)
    J_VK = U_VF.new_zeros(vocab_size, columns, dtype=dtype)
    f_BK[:, :width], J_VK[:, :width] = f_BF, U_VF
    most = kernels.block_rows(vocab_size, f_BK.element_size())
    rows = -(-batch // -(-batch // most))
    y_RV, grad_f_BK, grad_J_VK = f_BK.new_empty(rows, vocab_size), torch.empty_like(f_BK), torch.zeros_like(J_VK)

    def multiply() -> Tensor:
        for start in range(0, batch, rows):
            part_RK = f_BK[start : start + rows]
            p_RV = torch.mm(part_RK, J_VK.t(), out=y_RV[: len(part_RK)])
            torch.mm(p_RV, J_VK, out=grad_f_BK[start : start + rows])
            grad_J_VK.addmm_(p_RV.t(), part_RK, beta=1 if start else 0)
        return grad_J_VK

    return multiply


def contenders(setting: Setting, given: Given) -> dict[str, Callable[[], Tensor]]:
    """The losses with their gradients, and the bare products, by name."""
    losses = {f"neuralgram, {p}": own(p) for p in setting.precisions} | {peers.EAGER: peers.eager}
    for precision in setting.precisions:
        losses |= peers.chunked_losses(precision)
    bare = {f"three products, {p}": products(given, p) for p in setting.precisions}
    return {name: with_gradients(loss, given) for name, loss in losses.items()} | bare


def measure(setting: Setting) -> Sheet:
    """Milliseconds of each."""
    vocab_size, width, batch = (512, 16, 64) if setting.quick else (V, H, B)
    seconds = setting.in_turn(contenders(setting, inputs(vocab_size, width, batch, setting.device)))
    eager = seconds[peers.EAGER]
    rows = [[name, spaced(1e3 * taken, 1), f"{eager / taken:.2f}"] for name, taken in seconds.items()]
    return Sheet(table(["", "ms", "× eager"], rows), figures(setting, seconds))


def figures(setting: Setting, seconds: dict[str, float]) -> list[Figure]:
    """Ours over eager and over the products with the targets, then the peers over eager."""
    eager, found = seconds[peers.EAGER], []
    for precision, target in TARGETS.items():
        taken = seconds.get(f"neuralgram, {precision}")
        value = eager / taken if taken else None
        found += setting.held(1, "loss and gradients over eager PyTorch", value, target, precision=precision)
    for name, taken in seconds.items():
        if "linear_cross_entropy" in name:
            what = f"peer: loss and gradients, {name.removesuffix(', bf16')}, over eager PyTorch"
            precision = "bf16" if name.endswith("bf16") else "fp32"
            found += setting.held(1, what, eager / taken, None, precision=precision)
    for precision, target in OVER_PRODUCTS.items():
        taken = seconds.get(f"neuralgram, {precision}")
        value = taken / seconds[f"three products, {precision}"] if taken else None
        what = "loss and gradients over the three products, same dtype and blocks"
        found += setting.held(2, what, value, target, precision=precision, direction="<=")
    return found


if __name__ == "__main__":
    run(__file__, "The loss with its gradients", ABOUT, measure, options=parser(__doc__), counts=(1, 2))
