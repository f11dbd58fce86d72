# SPDX-License-Identifier: Apache-2.0
"""Discrete simulation of the ranks of a training job: hosts, launch queues, streams and collectives.

Everything that happens is a node of one graph. A node begins when all of its predecessors have ended, each plus a
lag, and takes a fixed time. Times are microseconds. Rows of a trace refer to nodes and get their times last."""

COMPUTE = 7  # the stream of the current context in PyTorch's traces
MAIN, BACKWARD = 0, 1  # threads of a rank
QUEUE = 1024  # launches that may lie ahead of the device


class Graph:
    """Nodes with durations; `run` finds when each begins and ends."""

    def __init__(self):
        self.took, self.need, self.after = [], [], []

    def node(self, us, preds):
        """A node that takes `us` and begins after the (node, lag) of `preds`."""
        n = len(self.took)
        self.took.append(us)
        self.need.append(len(preds))
        self.after.append([])
        for p, lag in preds:
            self.after[p].append((n, lag))
        return n

    def edge(self, p, n, lag=0.0):
        """One more predecessor of a node."""
        self.need[n] += 1
        self.after[p].append((n, lag))

    def run(self):
        need, after, took = list(self.need), self.after, self.took
        begin, end = [0.0] * len(took), [0.0] * len(took)
        ready = [n for n, k in enumerate(need) if not k]
        done = 0
        while ready:
            n = ready.pop()
            done += 1
            at = end[n] = begin[n] + took[n]
            for m, lag in after[n]:
                if at + lag > begin[m]:
                    begin[m] = at + lag
                need[m] -= 1
                if not need[m]:
                    ready.append(m)
        if done != len(took):
            raise RuntimeError("deadlock: %d of %d nodes never begin" % (len(took) - done, len(took)))
        self.begin, self.end = begin, end


class Noise:
    """Random numbers that depend on a place in the job and not on the order of asking.

    A job with a fault and the same job without it therefore have the same jitter. Values are normal; one of
    `tail` is 5 to 30 standard deviations high."""

    def __init__(self, r, tail):
        self.seed = r.getrandbits(32)
        self.table = [r.uniform(5, 30) if r.random() < tail else max(-3.0, r.gauss(0, 1)) for _ in range(1 << 14)]

    def place(self, rank, step, batch, layer, phase):
        h = (rank * 73856093 ^ step * 19349663 ^ batch * 83492791 ^ layer * 49979693 ^ phase * 15485863 ^ self.seed)
        h = (h ^ h >> 15) * 2246822519 & 0xFFFFFFFF
        return (h ^ h >> 13) * 3266489917 & 0xFFFFFFFF

    def at(self, place, slot):
        h = (place + slot * 2654435761) & 0xFFFFFFFF
        h = (h ^ h >> 16) * 2246822519 & 0xFFFFFFFF
        return self.table[h >> 18]


class Joins:
    """The meetings of collectives and messages: all members have arrived, then the transfer takes its time."""

    def __init__(self, graph):
        self.graph, self.nodes, self.members = graph, {}, {}

    def node(self, key, us):
        """The node of a meeting. The first member to ask says how long the transfer takes."""
        n = self.nodes.get(key)
        if n is None:
            n = self.nodes[key] = self.graph.node(us, [])
            self.members[key] = []
        return n


class Rank:
    """Program of one rank: what its host does, in order, and what it launches."""

    def __init__(self, job, graph, joins, number):
        self.job, self.graph, self.joins, self.number = job, graph, joins, number
        self.host = graph.node(job.noise.place(number, 0, 0, 0, 99) % 2000 / 10.0, [])
        self.first = self.host
        self.thread = MAIN
        self.last, self.waits, self.launched = {}, {}, []
        self.rows, self.device_rows, self.open = [], [], []
        self.ops = 0  # host operations of this step, for pauses
        self.call = 0  # correlation
        self.id = 0  # External id
        self.steps = []  # (first node, last node) of each
        self.place, self.slot, self.step = 0, 0, 0
        self.seq, self.back_seq = 0, 0  # of autograd

    # Random numbers

    def at(self, step, batch, layer, phase):
        """Jitter depends on this place from now on, and on how much has been asked since."""
        self.place, self.slot, self.step = self.job.noise.place(self.number, step, batch, layer, phase), 0, step

    def z(self):
        self.slot += 1
        return self.job.noise.at(self.place, self.slot)

    # Host

    def busy(self, us, lag=0.0):
        """The host does something that has no row."""
        if us > 0:
            self.host = self.graph.node(us, [(self.host, lag)])
        return self.host

    def begin(self, cat, name, args=None):
        self.open.append((cat, name, self.thread, self.host, args))

    def end(self):
        cat, name, thread, at, args = self.open.pop()
        self.row(cat, name, at, 0.3, self.host, -0.2, args, thread)

    def row(self, cat, name, a, off, b, back, args=None, thread=None):
        """A row of the host, from `off` after the end of node a until `back` after the end of node b."""
        if self.job.record:
            self.rows.append((cat, name, self.thread if thread is None else thread, a, off, b, back, args))

    def to_thread(self, thread):
        """Control goes to another thread; this one waits for it."""
        self.busy(8.0 + 4.0 * abs(self.z()))
        self.thread = thread

    def host_op(self, us):
        """A host operation: its node, the one before it, the gap before it and its own time."""
        job = self.job
        pause = job.pauses.get((self.number, self.step))
        if pause and self.ops == pause[0]:
            self.busy(pause[1])
        self.ops += 1
        factor, extra = job.host_cost(self.number, self.step)
        us *= (1.0 + job.host_sigma * abs(self.z())) * factor
        gap = us * job.python_share + extra
        before = self.host
        self.host = self.graph.node(gap + us, [(before, 0.0)])
        return self.host, before, gap, us

    def launch(self, call, node, before, gap, us, ext):
        """The row of a launch inside a host operation; the correlation."""
        self.call += 1
        if len(self.launched) >= QUEUE:
            self.graph.edge(self.launched[-QUEUE], node, 0.0)
        self.row("runtime", call, before, gap + 0.4 * us, node, -0.25 * us, (self.call, ext))
        return self.call

    # Device

    def preds(self, stream, node, us):
        """What a kernel that is launched now waits for."""
        found = [(node, 2.0 + 1.2 * abs(self.z()) - 0.25 * us)]
        last = self.last.get(stream)
        if last is not None:
            found.append((last, self.job.kernel_gap))
        found.extend((n, self.job.event_lag) for n in self.waits.pop(stream, ()))
        return found

    def kernel(self, op, name, us, stream=COMPUTE, cat="kernel", args=None, op_us=None, call="launch"):
        """An operator that launches one kernel."""
        node, before, gap, took = self.host_op(op_us or self.job.op_us)
        self.id += 1
        ext = self.id
        if self.thread == MAIN:
            self.seq += 1
            seq = self.seq
        else:  # counts down over what the forward pass counted up
            self.back_seq -= 1
            seq = max(0, self.back_seq)
        self.row("op", op, before, gap + 0.05 * took, node, -0.05 * took, (ext, seq))
        if name.startswith("triton"):
            call = "launch_driver"
        call = self.launch(call, node, before, gap, took, ext)
        if cat == "kernel":
            us = max(0.8, us * (1.0 + self.job.kernel_sigma * self.z()))
        end = self.graph.node(us, self.preds(stream, node, took))
        self.last[stream] = end
        self.launched.append(end)
        if self.job.record:
            self.device_rows.append((cat, name, stream, end, end, call, ext, args, self.step))
        return end

    def record(self, stream):
        """An event of what has been launched on a stream: (node, correlation of the call, stream)."""
        before = self.host
        self.busy(1.2 + 0.3 * abs(self.z()))
        self.call += 1
        self.row("runtime", "event_record", before, 0.2, self.host, -0.2, (self.call, None))
        return self.last.get(stream, self.first), self.call, stream

    def wait(self, stream, event):
        """What is launched next on `stream` waits for an event."""
        before = self.host
        self.busy(1.5 + 0.5 * abs(self.z()))
        self.call += 1
        self.row("runtime", "event_wait", before, 0.2, self.host, -0.2, (self.call, None))
        self.waits_for(stream, event, self.call, before, self.host)

    def waits_for(self, stream, event, call, before, node):
        self.waits.setdefault(stream, []).append(event[0])
        if self.job.record and self.job.style["wait_rows"]:
            self.device_rows.append(("cuda_sync", event[2], stream, before, node, call, event[1], None, self.step))

    def communicate(self, kind, meetings, args, records, stream, own_stream, after):
        """A collective or a message; the event of its end.

        `meetings` are (key, us). `args` is what the kernel's row says of it, `records` what record_param_comms
        says. On a stream of its own it waits for the current work of the computation, or for the events `after`."""
        node, before, gap, took = self.host_op(self.job.comm_op_us)
        self.id += 1
        ext = self.id
        self.row("comm_op", kind, before, gap + 0.05 * took, node, -0.05 * took, (ext, args))
        if self.job.style["param_comms"]:
            for n, record in enumerate(records):
                self.id += 1
                ext = self.id
                at = gap + (0.12 + 0.05 * n) * took
                if args:
                    self.row("comms", "record_param_comms", before, at, node, -0.1 * took, (ext, record))
                else:  # the kernel of a batch is launched after them
                    self.row("comms", "record_param_comms", before, at, before, at + 0.04 * took, (ext, record))
        self.row("comm_note", kind, before, gap + 0.22 * took, node, -0.12 * took, (None, args))
        if own_stream and after is None:
            self.call += 1
            self.row("runtime", "event_record", before, gap + 0.24 * took, before, gap + 0.29 * took, (self.call, ext))
            after = [(self.last.get(COMPUTE, self.first), self.call, COMPUTE)]
        for n, event in enumerate(after or ()):
            self.call += 1
            self.row("runtime", "event_wait", before, gap + (0.3 + 0.04 * n) * took, before,
                     gap + (0.33 + 0.04 * n) * took, (self.call, ext))
            self.waits_for(stream, event, self.call, before, node)
        call = self.launch("launch_comm", node, before, gap, took, ext)
        arrival = self.graph.node(0.0, self.preds(stream, node, took))
        end = self.graph.node(0.0, [])
        for key, us in meetings:
            join = self.joins.node(key, us)
            self.joins.members[key].append((self.number, arrival, end))
            self.graph.edge(arrival, join)
            self.graph.edge(join, end, 0.15 + 0.1 * abs(self.z()))
        self.last[stream] = end
        self.launched.append(end)
        if self.job.record:
            self.device_rows.append(("comm", kind, stream, arrival, end, call, ext, args, self.step))
        self.call += 1
        self.row("runtime", "event_record", node, -0.22 * took, node, -0.16 * took, (self.call, ext))
        return end, self.call, stream

    def sync(self, call, ends, us=2.0):
        """The host waits until the device has ended the nodes."""
        before = self.host
        lag = 3.0 + abs(self.z())
        self.host = self.graph.node(us, [(before, 0.0)] + [(n, lag) for n in ends])
        self.call += 1
        self.row("runtime", call, before, 0.3, self.host, -0.2, (self.call, None))

    def item(self):
        """tensor.item(): a copy to the host and a wait for it."""
        before = self.host
        self.id += 1
        ext = self.id
        end = self.kernel("aten::_local_scalar_dense", "Memcpy DtoH (Device -> Pageable)", 1.3, cat="gpu_memcpy",
                          args=4, call="copy")
        self.sync("stream_sync", [end])
        self.row("op", "aten::item", before, 0.1, self.host, -0.1, ext)

    def begin_step(self, number):
        self.ops = 0
        self.steps.append([self.host, None])
        self.begin("user_annotation", "ProfilerStep#%d" % number)

    def end_step(self):
        self.end()
        self.steps[-1][1] = self.host
