#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gloo_dumps.py sound|missing DIR: what PyTorch's flight recorder dumps of three gloo processes, as pickle and as JSON.

`missing`: rank 2 leaves before the all-gather. tests/hang/dumps was made so with PyTorch 2.14 (paths in it replaced)."""
import datetime
import os
import sys
import time

import torch
import torch._C._distributed_c10d as c10d
import torch.distributed as dist
import torch.multiprocessing as mp


def work(rank, ranks, mode, folder):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29617", TORCH_FR_BUFFER_SIZE="2000")
    dist.init_process_group("gloo", rank=rank, world_size=ranks, timeout=datetime.timedelta(seconds=5))
    pair = dist.new_group([0, 1], group_desc="pair")
    for _ in range(5):
        dist.all_reduce(torch.ones(16))
    if rank < 2:
        dist.broadcast(torch.ones(4, 4), 0, group=pair)
    if rank == 0:
        dist.send(torch.ones(7), 1)
    if rank == 1:
        dist.recv(torch.ones(7), 0)
    try:
        if mode == "missing" and rank == 2:
            time.sleep(4)
        else:
            dist.all_gather([torch.ones(16) for _ in range(ranks)], torch.ones(16))
            dist.barrier()
    except RuntimeError as error:
        print(rank, error)
    with open(f"{folder}/trace_rank_{rank}", "wb") as out:
        out.write(c10d._dump_fr_trace(True))
    json = c10d._dump_fr_trace_json(True)
    with open(f"{folder}/json_rank_{rank}.json", "wb") as out:
        out.write(json if isinstance(json, bytes) else json.encode())
    time.sleep(1)
    os._exit(0)


if __name__ == "__main__":
    os.makedirs(sys.argv[2], exist_ok=True)
    mp.spawn(work, args=(3, sys.argv[1], sys.argv[2]), nprocs=3)
