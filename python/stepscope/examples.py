# SPDX-License-Identifier: Apache-2.0
"""Recorded traces that come with the package."""

from __future__ import annotations

import os

from stepscope.errors import UsageError

_FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "example_traces")


def example(name: str = "ddp") -> str:
    """The folder of the traces of a recorded job. "ddp": two ranks on CPUs; one has a slow data
    loader. "fsdp": the same network with FSDP."""
    folder = os.path.join(_FOLDER, name)
    if os.sep in name or not os.path.isdir(folder):
        known = ", ".join(repr(found) for found in sorted(os.listdir(_FOLDER)))
        raise UsageError(f"there is no example {name!r}", remedy=f"give one of {known}")
    return folder
