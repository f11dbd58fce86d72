# SPDX-License-Identifier: Apache-2.0
"""stepscope in a Lightning Trainer:

Trainer(..., callbacks=[stepscope.lightning.Callback("traces")])"""

from __future__ import annotations

try:
    try:
        from lightning.pytorch.callbacks import Callback as _Callback
    except ImportError:
        from pytorch_lightning.callbacks import Callback as _Callback
except ImportError as error:
    raise ImportError(
        f"stepscope.lightning needs Lightning, and importing it failed ({error}):"
        " pip install lightning"
    ) from error

from stepscope.torch.session import Session


class Callback(_Callback):
    """Watches all ranks of the training, and records FOLDER/capture_N if a folder is given.

    monitor  False, or the keywords of stepscope.torch.monitor.
    capture  The keywords of stepscope.torch.profile: {"wait": 10, "active": 5}."""

    def __init__(
        self, folder: str | None = None, *, monitor: bool | dict = True, capture: dict | None = None
    ):
        self._session = Session(folder, monitor, capture)
        self._steps = 0

    def on_train_start(self, trainer, pl_module):
        self._steps = trainer.global_step
        self._session.start(trainer.strategy.model)

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        if trainer.global_step != self._steps:  # not after each accumulated batch
            self._steps = trainer.global_step
            self._session.step()

    def on_train_end(self, trainer, pl_module):
        self._session.stop()

    def on_exception(self, trainer, pl_module, exception):
        self._session.stop()

    def summary(self) -> dict:
        """Flat numbers of the last steps of all ranks; filled on rank 0."""
        return self._session.summary()
