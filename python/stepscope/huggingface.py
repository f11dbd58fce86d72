# SPDX-License-Identifier: Apache-2.0
"""stepscope in a Hugging Face Trainer:

Trainer(..., callbacks=[stepscope.huggingface.Callback("traces")])"""

from __future__ import annotations

try:
    from transformers import TrainerCallback
except ImportError as error:
    raise ImportError(
        f"stepscope.huggingface needs transformers, and importing it failed ({error}):"
        " pip install transformers"
    ) from error

from stepscope.torch.session import Session


class Callback(TrainerCallback):
    """Watches all ranks of the training, and records FOLDER/capture_N if a folder is given.

    monitor  False, or the keywords of stepscope.torch.monitor.
    capture  The keywords of stepscope.torch.profile: {"wait": 10, "active": 5}."""

    def __init__(
        self, folder: str | None = None, *, monitor: bool | dict = True, capture: dict | None = None
    ):
        self._session = Session(folder, monitor, capture)

    def on_train_begin(self, args, state, control, model=None, **kwargs):
        self._session.start(*([] if model is None else [model]))

    def on_step_end(self, args, state, control, **kwargs):
        self._session.step()

    def on_train_end(self, args, state, control, **kwargs):
        self._session.stop()

    def summary(self) -> dict:
        """Flat numbers of the last steps of all ranks; filled on rank 0."""
        return self._session.summary()
