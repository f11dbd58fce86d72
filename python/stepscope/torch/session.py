# SPDX-License-Identifier: Apache-2.0
"""Monitor and profiler of one training run, as the adapters for frameworks start, step and stop
them."""

from __future__ import annotations

from stepscope.torch.capture import profile
from stepscope.torch.monitor import Monitor, monitor


class Session:
    """monitor: False, or True, or the keywords of stepscope.torch.monitor. folder: where captures
    go; without it nothing is recorded. capture: the keywords of stepscope.torch.profile."""

    def __init__(self, folder: str | None, monitor: bool | dict, capture: dict | None):
        if capture is not None and folder is None:
            raise ValueError("a capture needs a folder for its traces")
        self._folder = folder
        self._options = {} if monitor is True else monitor
        self._capture = capture or {}
        self._monitor: Monitor | None = None
        self._profiler = None

    def start(self, *modules) -> None:
        if self._options is not False:
            self._monitor = monitor(*modules, **self._options)
        if self._folder is not None:
            self._profiler = profile(self._folder, **self._capture)
            self._profiler.start()

    def step(self) -> None:
        """Once per optimizer step, behind it."""
        if self._monitor:
            self._monitor.step()
        if self._profiler:
            self._profiler.step()

    def stop(self) -> None:
        if self._profiler:
            self._profiler.stop()
            self._profiler = None
        if self._monitor:
            self._monitor.close()
            self._monitor = None

    def summary(self) -> dict:
        """The monitor's state: flat numbers for W&B, MLflow and TensorBoard; filled on rank 0."""
        return self._monitor.summary() if self._monitor else {}
