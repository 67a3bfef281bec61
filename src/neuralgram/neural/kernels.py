"""Full-vocabulary work, and the only place where it happens: the exact softmax and its gradients.

    ℓ = log Σ_v e^{y_v} − y_w,  y = f J^T,  J = [U W b] (the parts joined, the bias against a feature of 1)
    ∂ℓ/∂y = p − e_w,  ∂ℓ/∂f = (p − e_w) J,  ∂ℓ/∂J = (p − e_w)^T f

The B × V logits never exist at once: a block of rows is multiplied, turned into p, then into p − e_w,
all in one buffer that stays in the cache, and multiplied twice more on the way out.

Shapes: B windows, R rows of a block, V vocabulary, F features, K = F + 1 with the constant feature.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

_BLOCK_BYTES = 8 << 20  # one block of logits: it and the vectors it meets share the last cache
_RARE = 1e-30  # a probability this small is about to lose its digits in single precision


def softmax_loss(f_BF: Tensor, parts: Sequence[Tensor], bias_V: Tensor, y_B: Tensor) -> Tensor:
    """−log softmax(f [parts]^T + bias)_y, one loss an example [B], in nats, with its gradients.

    `parts` [V, F_i] are the output vectors by columns, ΣF_i = F. Both gradients are made in the forward
    pass, for an upstream gradient of one an example, and scaled in the backward pass; an upstream gradient
    that differs between examples costs a second pass.
    """
    joined_VK = torch.cat([*parts, bias_V[:, None]], 1)
    f_BK = torch.cat([f_BF, f_BF.new_ones(len(f_BF), 1)], 1)
    if not (torch.is_grad_enabled() and (f_BK.requires_grad or joined_VK.requires_grad)):
        return _nll(f_BK, joined_VK, y_B).to(f_BF.dtype)
    loss_B: Tensor = _SoftmaxLoss.apply(f_BK, joined_VK, y_B)  # type: ignore[no-untyped-call]
    return loss_B


@torch.no_grad()
def softmax_nll(f_BF: Tensor, parts: Sequence[Tensor], bias_V: Tensor, y_B: Tensor) -> Tensor:
    """The same loss for scoring, float64 [B]: normalised in float64 from logits of the model's precision."""
    joined_VK = torch.cat([*parts, bias_V[:, None]], 1)
    return _nll(torch.cat([f_BF, f_BF.new_ones(len(f_BF), 1)], 1), joined_VK, y_B)


def block_rows(vocab_size: int, itemsize: int) -> int:
    """Rows of a block: what keeps its logits in the cache, in steps of 32, between 32 and 4096."""
    rows = _BLOCK_BYTES // (vocab_size * itemsize)
    return max(32, min(4096, rows // 32 * 32))


def _blocks(f_BK: Tensor, joined_VK: Tensor) -> Iterator[tuple[slice, Tensor]]:
    """Row slices with their logits [R, V]; the buffer is reused, so a block is valid until the next."""
    rows = min(block_rows(len(joined_VK), joined_VK.element_size()), max(len(f_BK), 1))
    buffer = f_BK.new_empty(rows, len(joined_VK))
    for start in range(0, len(f_BK), rows):
        block = slice(start, min(start + rows, len(f_BK)))
        yield block, torch.mm(f_BK[block], joined_VK.t(), out=buffer[: block.stop - start])


def _nll(f_BK: Tensor, joined_VK: Tensor, y_B: Tensor) -> Tensor:
    out_B = torch.empty(len(f_BK), dtype=torch.float64, device=f_BK.device)
    for block, logits_RV in _blocks(f_BK, joined_VK):
        exact_RV = logits_RV.double()
        out_B[block] = exact_RV.logsumexp(1) - exact_RV.gather(1, y_B[block, None])[:, 0]
    return out_B


def _pass(f_BK: Tensor, joined_VK: Tensor, y_B: Tensor, scale_B: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
    """Loss [B] and both gradients, [B, K] and [V, K], of Σ scale·loss (a scale of one where it is None)."""
    loss_B, grad_f_BK = f_BK.new_empty(len(f_BK)), torch.empty_like(f_BK)
    grad_joined_VK = torch.empty_like(joined_VK)
    first = 0.0  # the first product overwrites the uninitialised gradient, the others add to it
    for block, p_RV in _blocks(f_BK, joined_VK):
        torch.softmax(p_RV, 1, out=p_RV)
        target_R = y_B[block, None]
        p_target_R = p_RV.gather(1, target_R)
        torch.neg(p_target_R.log()[:, 0], out=loss_B[block])
        p_RV.scatter_(1, target_R, p_target_R - 1)  # p − e_w
        if scale_B is not None:
            p_RV.mul_(scale_B[block, None])
        torch.mm(p_RV, joined_VK, out=grad_f_BK[block])  # J^T (p − e_w)
        grad_joined_VK.addmm_(p_RV.t(), f_BK[block], beta=first)  # (p − e_w) f^T
        first = 1.0
    rare_B = ~(loss_B < -torch.tensor(_RARE).log().item())  # log p of an underflowed p: from the logits instead
    if bool(rare_B.any()):
        loss_B[rare_B] = _nll(f_BK[rare_B], joined_VK, y_B[rare_B]).to(loss_B.dtype)
    return loss_B, grad_f_BK, grad_joined_VK


class _SoftmaxLoss(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, f_BK: Tensor, joined_VK: Tensor, y_B: Tensor) -> Tensor:
        loss_B, grad_f_BK, grad_joined_VK = _pass(f_BK, joined_VK, y_B, None)
        ctx.save_for_backward(f_BK, joined_VK, y_B, grad_f_BK, grad_joined_VK)
        return loss_B

    @staticmethod
    def backward(ctx: Any, upstream_B: Tensor) -> tuple[Tensor, Tensor, None]:
        f_BK, joined_VK, y_B, grad_f_BK, grad_joined_VK = ctx.saved_tensors
        if not len(upstream_B):
            return torch.zeros_like(f_BK), torch.zeros_like(joined_VK), None
        if bool((upstream_B == upstream_B[0]).all()):
            return grad_f_BK * upstream_B[0], grad_joined_VK * upstream_B[0], None
        return *_pass(f_BK, joined_VK, y_B, upstream_B)[1:], None
