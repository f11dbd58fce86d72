# SPDX-License-Identifier: Apache-2.0
"""Pipelines of torch.distributed.pipelining, alone and times DP or FSDP."""

import layers
import torch
import torch.distributed as dist
from job_kind import kind, loss_of, mesh_of, optimizer_of
from torch.nn.parallel import DistributedDataParallel as DDP

PIPELINE_PLACES = ("before", "optimizer_host")


def pipeline_kind(name, family, world, pipeline, laps=1, **fields):
    return kind(
        name,
        family,
        world,
        places=PIPELINE_PLACES,
        pipeline=pipeline,
        stages=pipeline * laps,
        evaluates=False,
        **{"layers": 2 if laps == 1 else 1, **fields},
    )


@pipeline_kind("gpipe2", "PP", 2, 2, micro=4)
@pipeline_kind("gpipe4", "PP", 4, 4, micro=6, layers=1)
@pipeline_kind("1f1b2", "PP", 2, 2, micro=5)
@pipeline_kind("1f1b2_real", "PP", 2, 2, micro=4, options={"real": True, "style": "custom"})
@pipeline_kind("1f1b4", "PP", 4, 4, micro=8, layers=1)
@pipeline_kind("interleaved2", "PP", 2, 2, laps=2, micro=4)
@pipeline_kind("interleaved4", "PP", 4, 4, laps=2, micro=4)
@pipeline_kind("zero_bubble2", "PP", 2, 2, laps=2, micro=4)
@pipeline_kind("zbv2", "PP", 2, 2, laps=2, micro=4, v_shaped=True)
@pipeline_kind("gpipe2_dp2", "PP x DP", 4, 2, micro=4)
@pipeline_kind("1f1b2_dp2", "PP x DP", 4, 2, micro=4)
@pipeline_kind("interleaved2_dp2", "PP x DP", 4, 2, laps=2, micro=4)
@pipeline_kind("gpipe2_fsdp2", "PP x FSDP", 4, 2, micro=4)
@pipeline_kind("1f1b2_fsdp2", "PP x FSDP", 4, 2, micro=4)
def build_pipeline(rank):
    from torch.distributed.pipelining import PipelineStage, schedules

    kind_, pipeline = rank.kind, rank.kind.pipeline
    ways = kind_.world // pipeline
    mesh = mesh_of(("dp", ways), ("pp", pipeline)) if ways > 1 else None
    group = mesh.get_group("pp") if mesh else None
    modules, stages = [], []
    # DDP takes one forward before each backward: a rank with several stages has more, and so has GPipe.
    wrapped = (
        mesh
        and rank.options["ddp_stages"]
        and kind_.stages == pipeline
        and not kind_.name.startswith("gpipe")
    )
    for s in kind_.stages_of(rank.number):
        module = layers.Stack(kind_.layers_of_stage(s), style=rank.options["style"])
        modules.append(module)
        if "fsdp" in kind_.name:
            from torch.distributed.fsdp import fully_shard

            for block in module.blocks:
                fully_shard(block, mesh=mesh["dp"])
            fully_shard(module, mesh=mesh["dp"])
        elif wrapped:
            module = DDP(module, process_group=mesh.get_group("dp"))
        stages.append(PipelineStage(module, s, kind_.stages, torch.device("cpu"), group=group))
    name = "1f1b" if kind_.name.startswith("1f1b") else kind_.name.split("2")[0].rstrip("4")
    schedule = {
        "gpipe": schedules.ScheduleGPipe,
        "1f1b": schedules.Schedule1F1B,
        "interleaved": schedules.ScheduleInterleaved1F1B,
        "zero_bubble": schedules.ScheduleInterleavedZeroBubble,
        "zbv": schedules.ScheduleZBVZeroBubble,
    }[name]
    one = name in ("gpipe", "1f1b")
    schedule = schedule(
        stages[0] if one else stages,
        n_microbatches=kind_.micro,
        loss_fn=lambda y, t: loss_of(y - t),
    )
    parameters = [p for m in modules for p in m.parameters()]
    optimizer = optimizer_of(rank, parameters)
    own = kind_.stages_of(rank.number)
    first, last = 0 in own, kind_.stages - 1 in own

    def step():
        x = rank.load(kind_.micro)
        rank.wait("before")
        words = {"target": torch.zeros_like(x), "losses": []} if last else {}
        if first:
            schedule.step(x, **words)
        else:
            schedule.step(**words)
        if mesh and "fsdp" not in kind_.name and not wrapped:
            flat = torch.cat([p.grad.flatten() for p in parameters])
            dist.all_reduce(flat, group=mesh.get_group("dp"))
        rank.wait("optimizer_host")
        optimizer.step()
        optimizer.zero_grad()

    return step, None
