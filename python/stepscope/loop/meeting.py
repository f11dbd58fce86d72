# SPDX-License-Identifier: Apache-2.0
"""Places where the ranks of a job leave small records for each other: a shared folder, or the
store of the job's process group.

A place has three calls. No call waits for another rank:

    put(key, data: bytes)     leaves a record, whole or not at all
    get(key) -> bytes | None the record, or None without one
    drop(key)                 removes it; a missing record is no error

They raise OSError or RuntimeError if the folder or the store has failed. A place is used by one
thread."""

from __future__ import annotations

import os
import threading


class Folder:
    """Records as files below `path`, which is made. The ranks must see the same folder."""

    def __init__(self, path: str):
        self._path = path
        os.makedirs(path, exist_ok=True)

    def _file(self, key: str) -> str:
        return os.path.join(self._path, key.replace("/", "."))

    def put(self, key: str, data: bytes) -> None:
        name = self._file(key)
        part = f"{name}.{os.getpid()}.{threading.get_ident()}.part"
        with open(part, "wb") as out:
            out.write(data)
        os.replace(part, name)

    def get(self, key: str) -> bytes | None:
        try:
            with open(self._file(key), "rb") as file:
                return file.read()
        except FileNotFoundError:
            return None

    def drop(self, key: str) -> None:
        try:
            os.remove(self._file(key))
        except FileNotFoundError:
            pass


class Store:
    """Records in a torch.distributed store. Its own connection is made (Store.clone), so that a
    request here never delays the job's requests. `keep` is held, because a store whose last
    reference goes stops its server."""

    def __init__(self, store, prefix: str):
        self._keep = store
        self._store = store.clone()
        self._prefix = prefix

    def put(self, key: str, data: bytes) -> None:
        self._store.set(self._prefix + key, data)

    def get(self, key: str) -> bytes | None:
        if not self._store.check([self._prefix + key]):
            return None
        return self._store.get(self._prefix + key)

    def drop(self, key: str) -> None:
        self._store.delete_key(self._prefix + key)
