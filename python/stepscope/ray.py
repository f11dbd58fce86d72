# SPDX-License-Identifier: Apache-2.0
"""stepscope in the training function of Ray Train's TorchTrainer:

def train_loop(config):
    model = ray.train.torch.prepare_model(...)
    with stepscope.ray.watch(model) as watched:
        for batch in ...:
            ...
            optimizer.step()
            watched.step()
        watched.report({"loss": loss.item()})"""

from __future__ import annotations

try:
    import ray.train
except ImportError as error:
    raise ImportError(
        f"stepscope.ray needs Ray Train, and importing it failed ({error}):"
        ' pip install "ray[train]"'
    ) from error

from stepscope.torch.session import Session


class watch:  # noqa: N801 (a context manager that is called like a function)
    """Watches all workers, and records FOLDER/capture_N if a folder is given. The lines appear in
    the log of worker 0, which Ray prints on the driver.

    monitor  False, or the keywords of stepscope.torch.monitor.
    capture  The keywords of stepscope.torch.profile: {"wait": 10, "active": 5}."""

    def __init__(
        self,
        *modules,
        folder: str | None = None,
        monitor: bool | dict = True,
        capture: dict | None = None,
    ):
        self._modules = modules
        self._session = Session(folder, monitor, capture)

    def __enter__(self) -> watch:
        self._session.start(*self._modules)
        return self

    def __exit__(self, *exc) -> None:
        self._session.stop()

    def step(self) -> None:
        """Once per optimizer step, behind it."""
        self._session.step()

    def report(self, metrics: dict, **kwargs) -> None:
        """ray.train.report with summary() added to the metrics of worker 0."""
        ray.train.report({**metrics, **self.summary()}, **kwargs)

    def summary(self) -> dict:
        """Flat numbers of the last steps of all ranks; filled on rank 0."""
        return self._session.summary()
