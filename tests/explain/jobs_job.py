# SPDX-License-Identifier: Apache-2.0
"""A job: who is where, how long things take, and what a fault changes."""
import copy
import dataclasses

from jobs_simulation import COMPUTE

MEMORY = ("orm", "silu", "Silu", "add", "Add", "embedding", "_foreach", "adamw", "softmax", "opk")  # bound by memory


class Group:
    """A process group: its name, dimension, members, streams, and how much longer its transfers take."""

    def __init__(self, index, name, dim, desc, ranks):
        self.index, self.name, self.dim, self.desc, self.ranks = index, name, dim, desc, ranks
        self.members, self.stream, self.sequence, self.factor = frozenset(ranks), {}, {}, 1.0


@dataclasses.dataclass
class Fault:
    """What is wrong with a job: `size` is a factor or microseconds."""
    kind: str
    size: float = 0.0
    ranks: tuple = ()
    group: int = -1
    stage: int = -1
    step: int = -1
    style: str = ""
    places: tuple = ()  # pauses: (rank, step, operation)


class Job:
    """A job: what is drawn, and what the simulation asks of it. `fault` is None or what is wrong."""

    record = True
    fault = None
    host_scale = 1.0
    transfers = 1.0  # factor of all transfers
    late, short = {}, frozenset()  # captures: by rank the steps that it begins later; ranks that end a step earlier

    # Who is where

    def rank_at(self, pp, dp, cp, tp):
        if self.layout == "tp-cp-pp-dp":
            return ((dp * self.pp + pp) * self.cp + cp) * self.tp + tp
        return ((pp * self.dp + dp) * self.cp + cp) * self.tp + tp

    def stage_of(self, rank):
        return self.stages[rank]

    def members_of(self, key):
        return len(self.groups[key[0]].ranks) if len(key) == 2 else 2

    def siblings(self, group):
        return [g for g in self.groups if g.dim == group.dim]

    # Times

    def compute_factor(self, rank, step, op):
        """How much longer a kernel takes. A low clock (style "clock") slows only what is not bound by memory."""
        f, factor = self.fault, self.speed[rank]
        if f and (f.kind == "slow_rank" and rank in f.ranks
                  or f.kind == "throttling" and rank in f.ranks and step >= f.step
                  or f.kind == "outlier_step" and f.style == "longer" and step == f.step):
            if f.style != "clock" or not any(word in op for word in MEMORY):
                factor *= f.size
        return factor

    def host_cost(self, rank, step):
        """Factor of each host operation and what the host needs more before it."""
        factor = self.host_scale * self.host_speed[rank] * (self.warm if step == 0 else 1.0)
        f = self.fault
        if f and f.kind == "late_host" and rank in f.ranks:
            if f.style == "python":
                return factor, f.size
            if f.style == "slow":
                return factor * f.size, 0.0
        return factor, 0.0

    def transfer(self, group, us, n):
        z = min(6.0, self.noise.at(self.noise.place(group.index, 7, 0, 0, 7), n))
        return us * group.factor * max(0.3, 1.0 + self.transfer_sigma * z)

    def own_stream(self, dim):
        return self.tp_stream or dim not in ("tp", "cp", "ep")

    # Hosts

    def loads(self, r):
        return not self.tp0_loads or r.number == r.groups["tp"].ranks[0]

    def loader_time(self, rank, step):
        f = self.fault
        return self.loader_us + (f.size if f and f.kind == "data_loader" and rank in f.ranks else 0.0)

    def gap(self, r, place):
        f = self.fault
        if f and f.kind == "late_host" and f.style == place and r.number in f.ranks:
            r.busy(f.size * (1.0 + 0.05 * r.z()))

    def compile_gap(self, r, layer):
        f = self.fault
        if f and f.kind == "outlier_step" and f.style == "compile" and r.step == f.step:
            r.begin("user_annotation", "Torch-Compiled Region: %d/1" % layer)
            r.busy(f.size / max(self.layers) / self.batches * (1.0 + 0.05 * abs(r.z())))
            r.end()
        if f and f.kind == "sync_calls" and f.style.startswith("layer") and layer:
            self.synchronise(r, f.style)

    def batch_begins(self, r):
        f = self.fault
        if f and f.kind == "sync_calls":
            self.synchronise(r, f.style)
        r.busy(self.batch_host_us * (1.0 + 0.1 * abs(r.z())))

    def synchronise(self, r, style):
        if style.endswith("item"):
            r.item()
        else:
            r.sync("device_sync", list(r.last.values()))

    def step_ends(self, r, step):
        f = self.fault
        if not (f and f.kind == "outlier_step" and step == f.step):
            return
        if f.style == "checkpoint":
            r.sync("device_sync", list(r.last.values()))
            for _ in range(3):
                r.kernel("aten::copy_", "Memcpy DtoH (Device -> Pinned)", f.size * 0.05, cat="gpu_memcpy",
                         args=int(f.size * 1200), call="copy")
            r.sync("stream_sync", [r.last[COMPUTE]])
            r.busy(f.size * 0.85 * (1.0 + 0.01 * abs(r.z())))
        elif f.style == "memory":
            r.sync("device_sync", list(r.last.values()))
            for _ in range(4):
                before = r.host
                r.busy(f.size / 4 * (1.0 + 0.02 * abs(r.z())))
                r.call += 1
                r.row("runtime", "free", before, 0.3, r.host, -0.2, (r.call, None))

    # Faults

    def with_fault(self, fault, record=True):
        """The same job, all of its random numbers the same, with a fault (None: without)."""
        job = copy.copy(self)
        job.fault, job.record = fault, record
        job.slow_groups, job.pauses, job.layers = {}, {}, list(self.balanced)
        if fault is None:
            return job
        if fault.kind == "slow_group":
            job.slow_groups = {fault.group: fault.size}
        elif fault.kind == "pauses":
            job.pauses = {(rank, step): (at, fault.size * share) for rank, step, at, share in fault.places}
        elif fault.kind == "stage_imbalance":
            others = [s for s in range(self.pp) if s != fault.stage]
            for n in range(int(fault.size)):
                job.layers[others[n % len(others)]] -= 1
                job.layers[fault.stage] += 1
        return job

    def without_bound(self, kind):
        """The job without what bounds it: a host that launches at once, or transfers that take no time."""
        job = self.with_fault(None, False)
        if kind == "launch_bound":
            job.host_scale = 0.02
        elif kind == "exposed_communication":
            job.transfers = 0.0
        return job
