# SPDX-License-Identifier: Apache-2.0
"""NCCL's profiler plugin of stepscope.

``python -m stepscope.nccl_plugin`` prints its path, as NCCL wants it::

    export NCCL_PROFILER_PLUGIN=$(python -m stepscope.nccl_plugin)
"""

from pathlib import Path


def path() -> Path:
    """The absolute path of the shared library.

    Raises FileNotFoundError where this installation has no plugin: a build for macOS, or an incomplete one.
    """
    library = Path(__file__).resolve().with_name("libnccl-profiler-stepscope.so")
    if not library.is_file():
        raise FileNotFoundError(
            f"{library} is missing: this installation of stepscope has no plugin for NCCL. "
            "The wheels for Linux have it: install one again (pip install --force-reinstall WHEEL)"
        )
    return library


if __name__ == "__main__":
    print(path())
