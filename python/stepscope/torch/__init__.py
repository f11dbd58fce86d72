# SPDX-License-Identifier: Apache-2.0
"""stepscope in a PyTorch training loop: a profiler whose captures are analysed while training goes
on, and a monitor that needs no profiler. docs/how-to/watch-a-training-loop.md shows both."""

try:
    import torch as _torch  # noqa: F401
except ImportError as error:
    raise ImportError(
        f"stepscope.torch needs PyTorch, and importing it failed ({error}): pip install torch"
    ) from error

from stepscope.torch.capture import TraceHandler, profile, trace_handler
from stepscope.torch.monitor import Monitor, monitor

__all__ = ["Monitor", "TraceHandler", "monitor", "profile", "trace_handler"]
