"""Full-vocabulary work, and the only place where it happens: the exact softmax and its gradients.

    ℓ = log Σ_v e^{y_v} − y_w,  y = f J^T,  J = [U W b] (the parts joined, the bias against a feature of 1)
    ∂ℓ/∂y = p − e_w,  ∂ℓ/∂f = (p − e_w) J,  ∂ℓ/∂J = (p − e_w)^T f

The B × V logits never exist at once: a block of rows is multiplied, turned into p, then into p − e_w,
all in one buffer that stays in the cache, and multiplied twice more on the way out.

Shapes: B windows, R rows of a block, V vocabulary, F features, K = F + 1 rounded up to 8 (the products
run faster so): columns of zeros stand between the bias and K.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

_SMALL_BYTES = 1 << 20  # logits that stay in the inner caches: below it autograd's own passes cost least
_WIDEN_EVERY = 4  # blocks whose bfloat16 gradients are added up before they join the float32 ones
_CPU = torch.device("cpu")
_RARE = 69.0  # nats: a probability of e^−69 is about to lose its digits in single precision


def softmax_loss(f_BF: Tensor, parts: Sequence[Tensor], bias_V: Tensor, y_B: Tensor, precision: str = "fp32") -> Tensor:
    """−log softmax(f [parts]^T + bias)_y, one loss an example [B], in nats, with its gradients.

    `parts` [V, F_i] are the output vectors by columns, ΣF_i = F. Both gradients are made in the forward
    pass, for an upstream gradient of one an example, and scaled in the backward pass; an upstream gradient
    that differs between examples costs a second pass.

    precision: "bf16" multiplies in bfloat16, with a relative error of the gradients of about 2·10⁻³; it is
    for processors that have units for it (`has_bf16_units`). "fp32" multiplies in the precision of f.
    """
    low = precision == "bf16"
    if not low and len(f_BF) * len(bias_V) * f_BF.element_size() <= _SMALL_BYTES:
        logits_BV = F.linear(f_BF, parts[0] if len(parts) == 1 else torch.cat([*parts], 1), bias_V)
        return F.cross_entropy(logits_BV, y_B, reduction="none")
    if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in (f_BF, bias_V, *parts)):
        loss_B: Tensor = _SoftmaxLoss.apply(low, f_BF, y_B, bias_V, *parts)  # type: ignore[no-untyped-call]
        return loss_B
    return softmax_nll(f_BF, parts, bias_V, y_B).to(f_BF.dtype)


@torch.no_grad()
def softmax_nll(f_BF: Tensor, parts: Sequence[Tensor], bias_V: Tensor, y_B: Tensor) -> Tensor:
    """The same loss for scoring, float64 [B]: normalised in float64 from logits of the model's precision."""
    return _nll(*_joined(f_BF, parts, bias_V), y_B)


def block_rows(vocab_size: int, itemsize: int = 4, device: torch.device = _CPU) -> int:
    """Rows of a block, a multiple of 32, at least 64 and at most 4096, by what its logits take of the device's cache.

    Half of the last one: more rows read and write the gradient of J less often, fewer stay nearer to the processor. In
    two-byte numbers an eighth: there the products are so fast that nearness counts for more.
    """
    share = _cache_bytes(device) // (8 if itemsize == 2 else 2)
    return max(64, min(4096, share // (vocab_size * itemsize) // 32 * 32))


def has_bf16_units(device: torch.device) -> bool:
    """Whether `device` multiplies bfloat16 faster than float32: a processor with AVX-512 BF16 or AMX, a recent GPU."""
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    able = torch.cpu.get_capabilities()
    return bool(able.get("avx512_bf16") or able.get("amx_bf16"))


def _waits(device: torch.device) -> bool:
    """Whether a number read from a tensor there has to be waited for."""
    return device.type != "cpu"


@cache
def _cache_bytes(device: torch.device) -> int:
    """The last-level cache: a GPU's own; a processor's between 8 and 32 MiB, 16 MiB where the system does not say."""
    if device.type == "cuda":
        return int(torch.cuda.get_device_properties(device).L2_cache_size)
    try:
        text = Path("/sys/devices/system/cpu/cpu0/cache/index3/size").read_text(encoding="ascii").strip()
        return max(8 << 20, min(32 << 20, int(text.removesuffix("K")) << 10))
    except (OSError, ValueError):
        return 16 << 20


def _joined(f_BF: Tensor, parts: Sequence[Tensor], bias_V: Tensor, low: bool = False) -> tuple[Tensor, Tensor]:
    """[f 1 0…] as [B, K] and J = [parts bias 0…] as [V, K], in bfloat16 where `low`."""
    width = f_BF.shape[1]
    columns = (width + 8) // 8 * 8
    f_BK = f_BF.new_zeros(len(f_BF), columns)
    f_BK[:, :width] = f_BF
    f_BK[:, width] = 1
    padding = bias_V.new_zeros(len(bias_V), columns - width - 1)
    joined_VK = torch.cat([*parts, bias_V[:, None], padding], 1)
    return (f_BK.bfloat16(), joined_VK.bfloat16()) if low else (f_BK, joined_VK)


def _blocks(f_BK: Tensor, joined_VK: Tensor) -> Iterator[tuple[slice, Tensor]]:
    """Row slices with their logits [R, V]; the buffer is reused, so a block is valid until the next."""
    size, most = len(f_BK), block_rows(len(joined_VK), joined_VK.element_size(), joined_VK.device)
    rows = -(-size // max(1, -(-size // most)))  # as few blocks as fit, equally long
    buffer_RV = f_BK.new_empty(rows, len(joined_VK))
    for start in range(0, size, max(rows, 1)):
        block = slice(start, min(start + rows, size))
        yield block, torch.mm(f_BK[block], joined_VK.t(), out=buffer_RV[: block.stop - start])


def _nll(f_BK: Tensor, joined_VK: Tensor, y_B: Tensor) -> Tensor:
    out_B = torch.empty(len(f_BK), dtype=torch.float64, device=f_BK.device)
    for block, y_RV in _blocks(f_BK, joined_VK):
        target_R = y_RV.gather(1, y_B[block, None])[:, 0].double()
        highest_R1 = y_RV.amax(1, keepdim=True)
        total_R = _sum64(y_RV.sub_(highest_R1).exp_())
        out_B[block] = total_R.log_().add_(highest_R1[:, 0]).sub_(target_R)
    return out_B


def _sum64(e_RV: Tensor) -> Tensor:
    """Row sums in float64 of numbers e^{y − max}, at most 10⁻⁷ off in their logarithm, 10⁻⁸ on average.

    Numbers meet in single precision only 64 at a time, for less than half the cost of widening each.
    """
    rows, columns = e_RV.shape
    whole = columns // 64 * 64
    runs_RN = e_RV[:, :whole].view(rows, -1, 64).sum(2) if whole else e_RV[:, :0]
    return torch.cat([runs_RN, e_RV[:, whole:]], 1).sum(1, dtype=torch.float64)


def _pass(f_BK: Tensor, joined_VK: Tensor, y_B: Tensor, scale_B: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
    """Loss [B] and both gradients, [B, K] and [V, K], of Σ scale·loss (a scale of one where it is None)."""
    low = f_BK.dtype == torch.bfloat16
    wide = torch.float32 if low else f_BK.dtype
    away = _waits(f_BK.device)  # never waited for: its losses are safe from the start
    p_B, gap_B, grad_f_BK = torch.empty_like(y_B, dtype=wide), torch.empty_like(y_B, dtype=wide), torch.empty_like(f_BK)
    grad_joined_VK = torch.zeros_like(joined_VK, dtype=wide)
    sum_VK = torch.empty_like(joined_VK) if low else grad_joined_VK
    for number, (block, p_RV) in enumerate(_blocks(f_BK, joined_VK)):
        target_R1 = y_B[block, None]
        if away:
            gap_B[block] = (p_RV.amax(1) - p_RV.gather(1, target_R1)[:, 0]).to(wide)
        torch.softmax(p_RV, 1, out=p_RV)
        p_target_R1 = p_RV.gather(1, target_R1)
        p_B[block] = (p_RV.amax(1) if away else p_target_R1[:, 0]).to(wide)
        p_RV.scatter_(1, target_R1, p_target_R1 - 1)  # p − e_w
        if scale_B is not None:
            p_RV.mul_(scale_B[block, None])
        torch.mm(p_RV, joined_VK, out=grad_f_BK[block])  # ∂ℓ/∂f
        first = number % _WIDEN_EVERY == 0 if low else number == 0
        sum_VK.addmm_(p_RV.t(), f_BK[block], beta=0 if first else 1)  # ∂ℓ/∂J; 0 overwrites
        if low and ((number + 1) % _WIDEN_EVERY == 0 or block.stop == len(y_B)):
            grad_joined_VK += sum_VK
    loss_B = p_B.log_().neg_()
    if away:
        return loss_B.add_(gap_B), grad_f_BK, grad_joined_VK  # (max y − y_w) − log max p
    rare_B = ~(loss_B < _RARE)
    if bool(rare_B.any()):
        loss_B[rare_B] = _nll(f_BK[rare_B].to(wide), joined_VK.to(wide), y_B[rare_B]).to(wide)
    return loss_B, grad_f_BK, grad_joined_VK


class _SoftmaxLoss(torch.autograd.Function):
    """Inputs: whether to multiply in bf16, f [B, F], targets [B], bias [V], the parts of the output vectors."""

    @staticmethod
    def forward(ctx: Any, low: bool, f_BF: Tensor, y_B: Tensor, bias_V: Tensor, *parts: Tensor) -> Tensor:
        loss_B, grad_f_BK, grad_joined_VK = _pass(*_joined(f_BF, parts, bias_V, low), y_B, None)
        ctx.low = low
        ctx.save_for_backward(f_BF, y_B, bias_V, grad_f_BK, grad_joined_VK, *parts)
        return loss_B.to(f_BF.dtype)

    @staticmethod
    def backward(ctx: Any, upstream_B: Tensor) -> tuple[Tensor | None, ...]:
        """The gradients of the forward pass times the upstream one, made anew where that differs between examples."""
        f_BF, y_B, bias_V, grad_f_BK, grad_joined_VK, *parts = ctx.saved_tensors
        scale: Tensor | float = 1.0
        alike = upstream_B.stride() == (0,)  # a sum's: seen without looking at, and so without waiting for, the numbers
        if len(upstream_B) and (alike or bool((upstream_B == upstream_B[0]).all())):
            scale = upstream_B[0]
        else:
            _, grad_f_BK, grad_joined_VK = _pass(*_joined(f_BF, parts, bias_V, ctx.low), y_B, upstream_B)
        widths = [*(part.shape[1] for part in parts), 1]
        columns = grad_joined_VK.split([*widths, grad_joined_VK.shape[1] - sum(widths)], 1)
        grad_parts = [column * scale for column in columns[: len(parts)]]
        grad_f_BF = grad_f_BK[:, : f_BF.shape[1]] * scale
        return None, grad_f_BF.to(f_BF.dtype), None, columns[len(parts)][:, 0] * scale, *grad_parts
