# SPDX-License-Identifier: Apache-2.0
"""What a kind of job is, and what the builders of several kinds share.

Builders take a Rank (run_job.py): its number, the drawn options, the loader of its batches and the places of its step
at which a fault can make it wait. They return the function of one training step, and that of an evaluation or None."""

import contextlib
import dataclasses

import layers
import torch
from torch.nn.parallel import DistributedDataParallel as DDP

ALL_PLACES = ("before", "between", "optimizer_host")
BATCH, SEQUENCE = 4, 8


@dataclasses.dataclass
class Kind:
    name: str
    family: str
    world: int
    build: object
    places: tuple = ALL_PLACES
    stages: int = 1  # of a pipeline, virtual ones included
    pipeline: int = 1  # ranks of a pipeline
    v_shaped: bool = False
    micro: int = 1  # micro-batches
    layers: int = 4  # of the model, or of a stage of a pipeline
    evaluates: bool = True
    styles: tuple = ("custom", "function")
    operators: int = 2  # timed operators of a layer
    options: dict = dataclasses.field(default_factory=dict)
    numbered: bool = True  # ProfilerStep rows; set by a draw

    def pipeline_rank(self, stage):
        lap, at = divmod(stage, self.pipeline)
        return self.pipeline - 1 - at if self.v_shaped and lap % 2 else at

    def ranks_of_stage(self, stage):
        return [r for r in range(self.world) if r % self.pipeline == self.pipeline_rank(stage)]

    def stages_of(self, rank):
        return [s for s in range(self.stages) if rank in self.ranks_of_stage(s)]

    def layers_of_stage(self, stage):
        return list(range(stage * self.layers, (stage + 1) * self.layers))

    def layers_of(self, rank):
        return [n for s in self.stages_of(rank) for n in self.layers_of_stage(s)]


KINDS = {}


def kind(name, family, world, **fields):
    def add(build):
        KINDS[name] = Kind(name, family, world, build, **fields)
        return build

    return add


def stack_of(rank, checkpointing=False):
    return layers.Stack(
        range(rank.kind.layers), style=rank.options["style"], checkpointing=checkpointing
    )


def optimizer_of(rank, parameters):
    name = rank.options["optimizer"]
    many = {"foreach": False}
    optimizer = (
        torch.optim.SGD(parameters, lr=1e-3, momentum=0.9, **many)
        if name == "SGD"
        else torch.optim.AdamW(parameters, lr=1e-4, **many)
    )
    rank.slow_optimizer(optimizer)
    return optimizer


def loss_of(output):
    return output.float().pow(2).mean()


def plain_step(rank, model, optimizer, micro=1, inner=None):
    """The usual loop: load, forward, backward, optimizer. inner(last): context of a micro-batch."""

    def step():
        total = 0.0
        for n in range(micro):
            last = n == micro - 1
            x = rank.load()
            if n == 0:
                rank.wait("before")
            with inner(last) if inner else contextlib.nullcontext():
                loss = loss_of(model(x))
                if last:
                    rank.wait("between")
                loss.backward()
            total = loss
        rank.wait("optimizer_host")
        optimizer.step()
        optimizer.zero_grad()
        if rank.options["reads_loss"]:
            total.item()

    def evaluate(seconds):
        model.eval()
        with torch.no_grad():
            for _ in range(max(1, round(seconds / rank.forward_s))):
                model(torch.randn(BATCH, SEQUENCE, layers.WIDTH))
        model.train()

    return step, evaluate


def ddp_model(rank, **words):
    return DDP(
        stack_of(rank, words.pop("checkpointing", False)),
        bucket_cap_mb=rank.options["bucket_mb"],
        **words,
    )


def mesh_of(*dims):
    from torch.distributed.device_mesh import init_device_mesh

    return init_device_mesh(
        "cpu", tuple(n for _, n in dims), mesh_dim_names=tuple(name for name, _ in dims)
    )
