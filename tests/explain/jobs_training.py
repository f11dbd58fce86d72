# SPDX-License-Identifier: Apache-2.0
"""Steps of training as each rank's host launches them: layers, pipeline schedules, gradients, optimizer.

A Job has the sizes and the fault (jobs_draw.py). A Rank simulates what is launched (jobs_simulation.py)."""
from jobs_simulation import BACKWARD, COMPUTE, MAIN, Graph, Joins, Rank

# Collective: operator, annotation, kernel, the name that PyTorch records.
CALLS = {
    "all_reduce": ("c10d::allreduce_", "nccl:all_reduce", "AllReduce", "allreduce"),
    "all_gather": ("c10d::_allgather_base_", "nccl:_all_gather_base", "AllGather", "_allgather_base"),
    "reduce_scatter": ("c10d::_reduce_scatter_base_", "nccl:_reduce_scatter_base", "ReduceScatter",
                       "_reduce_scatter_base"),
    "all_to_all": ("c10d::alltoall_base_", "nccl:all_to_all", "SendRecv", "all_to_allv"),
    "broadcast": ("c10d::broadcast_", "nccl:broadcast", "Broadcast", "broadcast"),
    "send": ("c10d::send", "nccl:send %d->%d", "SendRecv", "send"),
    "recv": ("c10d::recv_", "nccl:recv %d<-%d", "SendRecv", "recv"),
    "coalesced": ("c10d::coalesced", "nccl:coalesced", "SendRecv", None),
}
EMBEDDING, LOSS, OPTIMIZER, LOADER = 101, 102, 103, 104  # places of jitter in addition to layers


def comm(r, dim, kind, us, elements, own=True, wait=True, after=None):
    """A collective of the rank's group of a dimension; the event of its end, or None if there is no such group."""
    g = r.groups.get(dim)
    if g is None or len(g.ranks) < 2:
        return None
    n = g.sequence[r.number] = g.sequence.get(r.number, -1) + 1
    args = (kind, g, elements, n, None)
    stream = g.stream[kind] if own else COMPUTE
    end = r.communicate(kind, [((g.index, n), r.job.transfer(g, us, n))], args, [args], stream, own, after)
    if wait and own:
        r.wait(COMPUTE, end)
    return end


def ring(r, us, elements, after):
    """One exchange of a ring: a message to the next and one from the previous member, in one kernel."""
    g = r.groups["cp"]
    n = g.sequence[r.number] = g.sequence.get(r.number, -1) + 1
    here, size = g.ranks.index(r.number), len(g.ranks)
    meetings = [((g.index, n, k), r.job.transfer(g, us, n * size + k)) for k in {here, (here - 1) % size}]
    send = ("send", g, elements, 2 * n, g.ranks[(here + 1) % size])
    recv = ("recv", g, elements, 2 * n + 1, g.ranks[(here - 1) % size])
    return r.communicate("coalesced", meetings, None, [send, recv], g.stream["send"], True, after)


class Message:
    """A message between neighbours of a pipeline: an activation forward or a gradient backward."""

    def __init__(self, r, kind, forward, batch):
        self.kind, self.forward = kind, forward
        g = self.group = r.groups["pp"]
        step = 1 if forward == (kind == "send") else -1
        self.peer = g.ranks[g.ranks.index(r.number) + step]
        edge = min(r.stage, r.stage + step)
        self.key = (g.index, forward, edge, r.step, batch)
        us = r.job.transfer(g, r.job.message_us, (r.step * 64 + batch) * 16 + edge * 2 + forward)
        self.meeting = (self.key, us)
        n = g.sequence[r.number] = g.sequence.get(r.number, -1) + 1
        self.args = (kind, g, r.job.message_elements, n, self.peer)


def messages(r, *wanted):
    """Sends and receives: one kernel if the job batches them, else one each. The computation waits for what is
    received, and for all of it if it is batched. The kernel of a batch says nothing of its messages, as PyTorch
    launches it after what it records of them (pytorch#194693)."""
    found = [Message(r, *w) for w in wanted]
    if not found:
        return
    if r.job.batched:
        r.wait(COMPUTE, r.communicate("coalesced", [m.meeting for m in found], None, [m.args for m in found],
                                      r.groups["pp"].stream["send"], True, None))
        if r.job.message_sync:
            r.sync("device_sync", list(r.last.values()))
        return
    for m in found:
        upward = m.forward == (m.kind == "send")  # between this stage and the next
        stream = r.groups["pp"].stream[("up" if upward else "down") if r.job.gpipe else (m.kind, m.forward)]
        done = r.communicate(m.kind, [m.meeting], m.args, [m.args], stream, True, None)
        if m.kind == "recv":
            r.wait(COMPUTE, done)


def compute(r, part, times=1.0):
    """A kernel on the stream of the computation."""
    op, name, us = part[:3]
    if len(part) > 3:  # work that differs from call to call, as of experts
        times *= 1.0 + part[3] * max(-3.0, min(3.0, r.z()))
    return r.kernel(op, name, us * times * r.job.compute_factor(r.number, r.step, op))


def layer_forward(r, step, batch, layer):
    job = r.job
    r.at(step, batch, layer, 0)
    job.compile_gap(r, layer)
    for part in job.forward:
        if part[0] == "kernel":
            compute(r, part[1:])
        elif part[0] == "attention" and job.cp > 1 and job.cp_style == "ring":
            for k in range(job.cp):  # keys and values of the next part arrive during this one
                arrived = ring(r, job.ring_us, job.ring_elements, None) if k < job.cp - 1 else None
                compute(r, part[1:], 1.0 / job.cp)
                if arrived is not None:
                    r.wait(COMPUTE, arrived)
        elif part[0] == "attention":
            compute(r, part[1:])
        else:
            _, dim, kind, us, elements = part
            comm(r, dim, kind, us, elements, own=job.own_stream(dim))


def layer_backward(r, step, batch, layer):
    job = r.job
    r.at(step, batch, layer, 1)
    r.back_seq = r.seq_of[batch, layer] + len(job.forward) + 1
    for part in job.backward:
        if part[0] == "kernel":
            compute(r, part[1:])
        elif part[0] == "attention" and job.cp > 1 and job.cp_style == "ring":
            for k in range(job.cp):
                sent = ring(r, job.ring_us * 2, job.ring_elements * 2, None) if k < job.cp - 1 else None
                compute(r, part[1:], 1.0 / job.cp)
                if sent is not None:
                    r.wait(COMPUTE, sent)
        elif part[0] == "attention":
            compute(r, part[1:])
        else:
            _, dim, kind, us, elements = part
            comm(r, dim, kind, us, elements, own=job.own_stream(dim))


def gather(r, layer, ready):
    """The all-gather of a sharded unit. It overlaps the unit before, unless the job overlaps nothing. The host of a
    job with a limiter waits until the unit before that one has been computed, as FullyShardedDataParallel's does."""
    job, ends = r.job, r.unit_ends
    if job.fsdp_notes:
        r.begin("user_annotation", "FSDP::%s (layers.%d)" % ("pre_backward" if ready is None else "pre_forward", layer))
    if job.limiter and len(ends) > 1:
        r.sync("event_sync", [ends[-2][0]])
    after = None
    if job.overlap:
        after = [e for e in (ready, ends[-2] if len(ends) > 1 else None) if e is not None]
    comm(r, "dp", "all_gather", job.gather_us, job.unit_elements, after=after)
    if job.fsdp_notes:
        r.end()


def forward(r, step, batch):
    job = r.job
    first, last = r.stage == 0, r.stage == job.pp - 1
    r.at(step, batch, EMBEDDING, 0)
    job.batch_begins(r)
    if first:
        compute(r, job.embedding)
    for layer in range(job.layers[r.stage]):
        r.seq_of[batch, layer] = r.seq
        if job.mode == "fsdp":
            r.at(step, batch, layer, 2)
            gather(r, layer, r.updated)
        elif job.mode == "zero1" and batch == 0 and layer in r.gathered:
            r.wait(COMPUTE, r.gathered[layer])
        layer_forward(r, step, batch, layer)
        if job.mode == "fsdp":
            r.unit_ends.append(r.record(COMPUTE))
    if last:
        r.at(step, batch, LOSS, 0)
        compute(r, job.head)
        compute(r, job.loss)


def backward(r, step, batch):
    job = r.job
    final = batch == job.batches - 1
    r.at(step, batch, LOSS, 1)
    job.gap(r, "backward")
    if job.autograd_thread:
        r.to_thread(BACKWARD)
    if r.stage == job.pp - 1:
        compute(r, job.head, 2.0)  # of its input and of its weights
    count = job.layers[r.stage]
    bucket = 0
    for layer in reversed(range(count)):
        if job.mode == "fsdp" and layer < count - 1:
            r.at(step, batch, layer, 3)
            gather(r, layer, None)
        layer_backward(r, step, batch, layer)
        if job.mode == "fsdp":
            r.unit_ends.append(r.record(COMPUTE))
        if not final:
            continue
        r.at(step, batch, layer, 4)
        bucket += 1
        if job.mode == "fsdp":
            done = comm(r, "dp", "reduce_scatter", job.gather_us * job.grad_width, job.unit_elements,
                        wait=not job.overlap)
            if "replica" in r.groups:
                done = comm(r, "replica", "all_reduce", job.replica_us, job.replica_elements,
                            wait=not job.overlap, after=[done])
            r.reduced = done
        elif job.mode in ("ddp", "zero1") and job.overlap and (bucket == job.bucket or layer == 0):
            kind = "all_reduce" if job.mode == "ddp" else "reduce_scatter"
            r.reduced = comm(r, "dp", kind, job.bucket_us * bucket, job.unit_elements * bucket, wait=False)
            bucket = 0
    if r.stage == 0:
        compute(r, job.embedding)
    if job.autograd_thread:
        r.to_thread(MAIN)


def schedule(job, stage):
    """Passes of a stage in order: (forward?, micro-batch)."""
    ahead = job.batches if job.gpipe else min(job.pp - 1 - stage, job.batches)
    passes = [(True, b) for b in range(ahead)]
    for b in range(job.batches):
        if b + ahead < job.batches:
            passes.append((True, b + ahead))
        passes.append((False, b))
    return passes


def pipeline(r, step):
    """All passes with the messages between them. What is sent after a pass and received before the next of the other
    direction is one call, as in 1F1B."""
    job = r.job
    first, last = r.stage == 0, r.stage == job.pp - 1
    sent = None
    for is_forward, batch in schedule(job, r.stage):
        wanted = [sent] if sent else []
        if is_forward and not first:
            wanted.append(("recv", True, batch))
        if not is_forward and not last:
            wanted.append(("recv", False, batch))
        together = len(wanted) == 2 and wanted[0][1] != wanted[1][1]
        r.at(step, batch, 100, int(is_forward))
        for group in [wanted] if together else [[w] for w in wanted]:
            messages(r, *group)
        sent = None
        if is_forward:
            forward(r, step, batch)
            if not last:
                sent = ("send", True, batch)
        else:
            backward(r, step, batch)
            if not first:
                sent = ("send", False, batch)
    if sent:
        messages(r, sent)


def load(r, step):
    job = r.job
    r.at(step, 0, LOADER, 0)
    if job.loads(r):
        if job.loader_name:
            r.begin("user_annotation", job.loader_name)
        r.busy(job.loader_time(r.number, step) * (1.0 + job.host_sigma * abs(r.z())))
        if job.loader_name:
            r.end()
        for _ in range(job.inputs):
            r.kernel("aten::_to_copy", "Memcpy HtoD (Pinned -> Device)", job.copy_us, stream=job.copy_stream,
                     cat="gpu_memcpy", args=int(job.copy_us * 20000), call="copy")
        if job.copy_stream != COMPUTE:
            r.wait(COMPUTE, r.record(job.copy_stream))
    if job.tp0_loads:
        comm(r, "tp", "broadcast", 15.0, 65536, own=True)
    job.gap(r, "loaded")


def reduce_late(r, step):
    """Gradients that were not reduced during the backward pass."""
    job = r.job
    r.at(step, 0, OPTIMIZER, 1)
    kind = {"ddp": "all_reduce", "zero1": "reduce_scatter"}.get(job.mode)
    if kind and not job.overlap:
        left = job.layers[r.stage]
        while left > 0:
            n = min(job.bucket, left)
            r.reduced = comm(r, "dp", kind, job.bucket_us * n, job.unit_elements * n, wait=False)
            left -= n
    if r.reduced is not None:
        r.wait(COMPUTE, r.reduced)


def update(r, step):
    job = r.job
    r.at(step, 0, OPTIMIZER, 0)
    job.gap(r, "optimizer")
    if job.clips:
        compute(r, job.norm)
        comm(r, "mp" if "mp" in r.groups else "dp", "all_reduce", 12.0, 1)
        compute(r, job.clip)
    if job.optimizer_name:
        r.begin("user_annotation", job.optimizer_name)
    for _ in range(job.updates):
        compute(r, job.adam, job.layers[r.stage] / job.updates)
    if job.optimizer_name:
        r.end()
    r.updated = r.record(COMPUTE)
    if job.mode == "zero1":
        r.at(step, 0, OPTIMIZER, 2)
        r.gathered = {}
        count = job.layers[r.stage]
        for layer in range(0, count, job.bucket):
            end = comm(r, "dp", "all_gather", job.gather_us * min(job.bucket, count - layer),
                       job.unit_elements * min(job.bucket, count - layer), wait=not job.overlap)
            if job.overlap and end is not None:
                r.gathered[layer] = end


def end_of_step(r, step, ends):
    job = r.job
    r.at(step, 0, OPTIMIZER, 3)
    job.step_ends(r, step)
    if job.mean_loss:
        comm(r, "dp", "all_reduce", 10.0, 1)
    if job.host_waits == "item":
        r.item()
    elif job.host_waits == "device":
        r.sync("device_sync", list(r.last.values()))
    elif job.host_waits == "event" and ends:
        r.sync("event_sync", [ends[-1]])
    ends.append(r.last[COMPUTE])
    r.busy(job.tail_us * (1.0 + 0.3 * abs(r.z())))


def simulate(job):
    """The ranks of a job after its last step, with the graph that has been run; and the mean step.

    The mean is over the steps after the first that all captures have, from the end of the device's work of a step to
    that of the next: a job that runs ahead fills its queues in the first step.
    """
    graph = Graph()
    joins = Joins(graph)
    lasts = [[] for _ in range(job.steps)]  # operations of all ranks that end the step
    ranks = [Rank(job, graph, joins, n) for n in range(job.world)]
    for g in job.groups:
        g.sequence = {}
        g.factor = job.slow_groups.get(g.index, 1.0) * job.transfers
    for r in ranks:
        r.groups = {g.dim: g for g in job.groups if r.number in g.members}
        r.stage, r.unit_ends, r.updated, r.reduced, r.gathered = job.stage_of(r.number), [], None, None, {}
        r.seq_of = {}
        ends = []
        for step in range(job.steps):
            r.begin_step(job.first_step + step)
            load(r, step)
            pipeline(r, step)
            reduce_late(r, step)
            update(r, step)
            end_of_step(r, step, ends)
            r.unit_ends = r.unit_ends[-2:]
            r.end_step()
            lasts[step] += list(r.last.values())
        r.sync("device_sync", list(r.last.values()))
    wrong = [key for key, members in joins.members.items() if len(members) != job.members_of(key)]
    if wrong:
        raise RuntimeError("%d collectives lack members, %s" % (len(wrong), wrong[:3]))
    graph.run()
    begin, end = max(job.late.values(), default=0), job.steps - 1 - bool(job.short)
    first, last = (max(graph.end[n] for n in lasts[k]) for k in (begin, end))
    return ranks, graph, joins, (last - first) / (end - begin)
