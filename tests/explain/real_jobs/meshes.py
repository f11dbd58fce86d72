# SPDX-License-Identifier: Apache-2.0
"""Jobs on meshes: FSDP2, HSDP, tensor parallelism by DTensor and by hand, rings of context parallelism, experts."""

import contextlib

import layers
import torch
import torch.distributed as dist
from job_kind import kind, mesh_of, optimizer_of, plain_step, stack_of
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

# FSDP2 and HSDP


def sharded(rank, mesh, checkpointing=False):
    from torch.distributed.fsdp import fully_shard

    model = stack_of(rank, checkpointing)
    for block in model.blocks:
        fully_shard(block, mesh=mesh)
    return fully_shard(model, mesh=mesh)


@kind("fsdp2", "FSDP2", 2)
@kind("fsdp4", "FSDP2", 4)
@kind("fsdp2_real", "FSDP2", 2, options={"real": True, "style": "custom"})
@kind("fsdp2_checkpointing", "FSDP2", 2, layers=3)
def build_fsdp(rank):
    model = sharded(rank, mesh_of(("fsdp", rank.kind.world)), "checkpointing" in rank.kind.name)
    return plain_step(rank, model, optimizer_of(rank, model.parameters()))


@kind("fsdp2_accumulation", "FSDP2", 2, micro=3, layers=3)
def build_fsdp_accumulation(rank):
    model = sharded(rank, mesh_of(("fsdp", rank.kind.world)))

    def inner(last):
        model.set_requires_gradient_sync(last)
        return contextlib.nullcontext()

    return plain_step(rank, model, optimizer_of(rank, model.parameters()), rank.kind.micro, inner)


@kind("hsdp4", "HSDP", 4, layers=3)
def build_hsdp(rank):
    model = sharded(rank, mesh_of(("replicate", 2), ("shard", 2)))
    return plain_step(rank, model, optimizer_of(rank, model.parameters()))


# Tensor parallelism


def split(model, mesh, sequence):
    from torch.distributed.tensor import Shard
    from torch.distributed.tensor.parallel import (
        ColwiseParallel,
        RowwiseParallel,
        SequenceParallel,
        parallelize_module,
    )

    for block in model.blocks:
        plan = {"up": ColwiseParallel(), "down": RowwiseParallel()}
        if sequence:
            plan = {
                "norm": SequenceParallel(use_local_output=True),
                "up": ColwiseParallel(input_layouts=Shard(1)),
                "down": RowwiseParallel(output_layouts=Shard(1)),
            }
        parallelize_module(block, mesh, plan)
    return model


@kind("tp2", "TP", 2)
@kind("tp2_real", "TP", 2, options={"real": True, "style": "custom"})
@kind("tp4", "TP", 4, layers=3)
@kind("tp2_sequence", "TP", 2, layers=3)
def build_tp(rank):
    model = split(stack_of(rank), mesh_of(("tp", rank.kind.world)), "sequence" in rank.kind.name)
    return plain_step(rank, model, optimizer_of(rank, model.parameters()))


@kind("tp2_dp2", "TP x DP", 4, layers=3)
def build_tp_dp(rank):
    from torch.distributed.tensor.parallel.ddp import _pre_dp_module_transform

    mesh = mesh_of(("dp", 2), ("tp", 2))
    model = split(stack_of(rank), mesh["tp"], False)
    _pre_dp_module_transform(model)
    model = DDP(model, process_group=mesh.get_group("dp"), bucket_cap_mb=rank.options["bucket_mb"])
    return plain_step(rank, model, optimizer_of(rank, model.parameters()))


@kind("fsdp2_tp2", "FSDP x TP", 4, layers=3)
def build_fsdp_tp(rank):
    from torch.distributed.fsdp import fully_shard

    mesh = mesh_of(("dp", 2), ("tp", 2))
    model = split(stack_of(rank), mesh["tp"], False)
    for block in model.blocks:
        fully_shard(block, mesh=mesh["dp"])
    fully_shard(model, mesh=mesh["dp"])
    return plain_step(rank, model, optimizer_of(rank, model.parameters()))


class Summed(torch.autograd.Function):
    """Megatron's g: the sum over a group in forward, the identity in backward."""

    @staticmethod
    def forward(ctx, x, group):
        x = x.clone()
        dist.all_reduce(x, group=group)
        return x

    @staticmethod
    def backward(ctx, gradient):
        return gradient, None


class Copied(torch.autograd.Function):
    """Megatron's f: the identity in forward, the sum over a group in backward."""

    @staticmethod
    def forward(ctx, x, group):
        ctx.group = group
        return x.view_as(x)

    @staticmethod
    def backward(ctx, gradient):
        gradient = gradient.clone()
        dist.all_reduce(gradient, group=ctx.group)
        return gradient, None


class MegatronBlock(layers.Block):
    def __init__(self, layer, group, style):
        super().__init__(layer, style=style)
        self.group = group

    def forward(self, x):
        h = Copied.apply(self.norm(x), self.group)
        h = Summed.apply(self.attention(h, self.layer), self.group)
        h = Copied.apply(h, self.group)
        h = self.down(self.mlp(torch.relu(self.up(h)), self.layer))
        return x + Summed.apply(h, self.group)


@kind("megatron_tp2", "TP", 2)
@kind("megatron_tp2_dp2", "TP x DP", 4, layers=3)
def build_megatron(rank):
    world = rank.kind.world
    mesh = mesh_of(("dp", world // 2), ("tp", 2))
    group = mesh.get_group("tp")
    model = nn.Sequential(
        *[MegatronBlock(n, group, rank.options["style"]) for n in range(rank.kind.layers)]
    )
    if world > 2:
        model = DDP(
            model, process_group=mesh.get_group("dp"), bucket_cap_mb=rank.options["bucket_mb"]
        )
    return plain_step(rank, model, optimizer_of(rank, model.parameters()))


# Rings and experts


class Ring(torch.autograd.Function):
    """Attention over blocks of keys that go around a ring: each rank sends its block on while it works on it."""

    @staticmethod
    def turn(block, group):
        number, world = dist.get_rank(group), dist.get_world_size(group)
        to = dist.get_global_rank(group, (number + 1) % world)
        from_ = dist.get_global_rank(group, (number - 1) % world)
        received = torch.empty_like(block)
        ops = [
            dist.P2POp(dist.isend, block, to, group),
            dist.P2POp(dist.irecv, received, from_, group),
        ]
        return received, dist.batch_isend_irecv(ops[:: -1 if number % 2 else 1])

    @staticmethod
    def around(x, layer, group, backward):
        block, total = x.contiguous(), torch.zeros_like(x)
        world = dist.get_world_size(group)
        for n in range(world):
            if n < world - 1:
                received, requests = Ring.turn(block, group)
            operator = Ring.backward_operator if backward else Ring.operator
            total = total + operator(block, layer)
            if n < world - 1:
                for request in requests:
                    request.wait()
                block = received
        return total / world

    @staticmethod
    def operator(x, layer):
        return torch.ops.oracle.attention(x, layer)

    @staticmethod
    def backward_operator(x, layer):
        return torch.ops.oracle.attention_backward(x, layer)

    @staticmethod
    def forward(ctx, x, layer, group):
        ctx.layer, ctx.group = layer, group
        return Ring.around(x, layer, group, False)

    @staticmethod
    def backward(ctx, gradient):
        return Ring.around(gradient, ctx.layer, ctx.group, True), None, None


class RingBlock(layers.Block):
    def __init__(self, layer, group, style):
        super().__init__(layer, style=style)
        self.group = group

    def forward(self, x):
        h = Ring.apply(self.norm(x), self.layer, self.group)
        return x + self.down(self.mlp(torch.relu(self.up(h)), self.layer))


@kind("ring2", "CP ring", 2, layers=3, styles=("custom",))
@kind("ring4", "CP ring", 4, layers=2, styles=("custom",))
@kind("ring2_dp2", "CP ring", 4, layers=2, styles=("custom",))
def build_ring(rank):
    group = dist.group.WORLD
    if "dp" in rank.kind.name:
        group = mesh_of(("dp", 2), ("cp", 2)).get_group("cp")
    model = nn.Sequential(
        *[RingBlock(n, group, rank.options["style"]) for n in range(rank.kind.layers)]
    )
    model = DDP(model, bucket_cap_mb=rank.options["bucket_mb"])
    return plain_step(rank, model, optimizer_of(rank, model.parameters()))


class Exchange(torch.autograd.Function):
    """all_to_all_single of equal parts, in forward and in backward."""

    @staticmethod
    def run(x, group):
        out = torch.empty_like(x)
        dist.all_to_all_single(out, x.contiguous(), group=group)
        return out

    @staticmethod
    def forward(ctx, x, group):
        ctx.group = group
        return Exchange.run(x, group)

    @staticmethod
    def backward(ctx, gradient):
        return Exchange.run(gradient, ctx.group), None


class ExpertBlock(layers.Block):
    """Tokens go to the expert of their slot, whose operator is `mlp`, and back."""

    def __init__(self, layer, group, style):
        super().__init__(layer, style=style)
        self.group = group

    def forward(self, x):
        h = self.attention(self.norm(x), self.layer)
        h = Exchange.apply(h, self.group)
        h = self.down(self.mlp(torch.relu(self.up(h)), self.layer))
        return x + Exchange.apply(h, self.group)


@kind("experts2", "EP all-to-all", 2, layers=3)
@kind("experts4", "EP all-to-all", 4, layers=3)
@kind("experts2_dp2", "EP all-to-all", 4, layers=3)
def build_experts(rank):
    """The experts' weights are each rank's own; gradients of the others are reduced over all ranks."""
    group = dist.group.WORLD
    if "dp" in rank.kind.name:
        group = mesh_of(("dp", 2), ("ep", 2)).get_group("ep")
    model = nn.Sequential(
        *[ExpertBlock(n, group, rank.options["style"]) for n in range(rank.kind.layers)]
    )
    experts = [n for n, _ in model.named_parameters() if ".up." in n or ".down." in n]
    DDP._set_params_and_buffers_to_ignore_for_model(model, experts)
    model = DDP(model, bucket_cap_mb=rank.options["bucket_mb"])
    return plain_step(rank, model, optimizer_of(rank, model.parameters()))
