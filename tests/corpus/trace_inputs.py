# SPDX-License-Identifier: Apache-2.0
"""What the writers of recordings share: their list, steps and products."""

from recording import MS, Recording

INPUTS = {}


def recording(name):
    """Registers a function that returns a Recording, or a text."""

    def register(make):
        def write(path):
            made = make()
            if isinstance(made, Recording):
                made.write(path)
            elif isinstance(made, bytes):
                path.write_bytes(made)
            else:
                path.write_text(made, encoding="utf-8")

        INPUTS[name] = write
        return make

    return register


def steps(r, body, count=6, length=None, first=0, mark=True):
    """`body(r, n)` fills each step; one of a `length` has no row where the body does not reach its end."""
    for n in range(count):
        begin = r.host
        body(r, n)
        end = max(begin + length, r.host) if length else max(r.host, r.device)
        if mark:
            r.step(first + n, begin, end)
        r.host = end
    return r


def products(count=8, dur=1.0 * MS, **more):
    def body(r, _):
        for _ in range(count):
            r.kernel(dur=dur, **more)
        r.copy()

    return body


def folder(name):
    """Registers a function that fills a folder."""

    def register(make):
        INPUTS[name + "/"] = make
        return make

    return register
