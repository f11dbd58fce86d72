# SPDX-License-Identifier: Apache-2.0
"""This process among the ranks of its job."""

from __future__ import annotations

import os

import torch.distributed as dist

from stepscope.loop import meeting


def has_group() -> bool:
    return dist.is_available() and dist.is_initialized()


def this_rank() -> int:
    """From the process group, else from RANK, else 0."""
    return dist.get_rank() if has_group() else int(os.environ.get("RANK", 0))


def ranks_of_job() -> int:
    """From the process group, else from WORLD_SIZE, else 1."""
    return dist.get_world_size() if has_group() else int(os.environ.get("WORLD_SIZE", 1))


def place_of_job(prefix: str, folder: str | None):
    """A function that makes the meeting place, in the thread that uses it: the store of the process
    group that the job has now; without one the folder, which the ranks must share. None if there is
    neither."""
    if has_group():
        store = dist.distributed_c10d._get_default_store()
        return lambda: meeting.Store(store, prefix)
    if folder is None:
        return None
    return lambda: meeting.Folder(os.path.join(folder, ".stepscope", prefix.strip("/")))
