# SPDX-License-Identifier: Apache-2.0
"""What the verbs take by name, as tables."""

from __future__ import annotations

from stepscope import _core
from stepscope.table import Table


def _list(what: str) -> Table:
    return Table(_core.listed([what]).tables()[what])


def machines() -> Table:
    """The machines of the catalogue, for `machine`: name, device, the rates of matrix products, memory
    and links. `predicts` is False where no such rate is known, so predict() and plan() cannot use it."""
    return _list("machines")


def models() -> Table:
    """The models of the catalogue, for `model`: name, parameters and sizes."""
    return _list("models")


def scenarios() -> Table:
    """The changes that whatif() and Analysis.whatif() replay: an example of each, and its meaning."""
    return _list("changes")


def formats() -> Table:
    """The formats of inputs: kind, name, and the verbs that read them."""
    return _list("formats")
