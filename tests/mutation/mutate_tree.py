# SPDX-License-Identifier: Apache-2.0
"""Mutations of trees: JSON and pickles. A tree is made of Pairs (an object, whose keys may repeat), lists, strings, Raw
(a number as it stands in the text), True, False and None; that of a pickle also of bytes."""
import io
import json
import pickle

from mutate_bytes import MOST, STRINGS, WORDS_OF_NUMBERS


class Raw(str):
    """Text that stands in the JSON as it is."""


class Pairs(list):
    """[[key, value]...]"""


def parse(text):
    def whole(word):
        return Raw(word)
    return json.loads(text, object_pairs_hook=lambda pairs: Pairs([list(p) for p in pairs]), parse_int=whole,
                      parse_float=whole, parse_constant=whole)


def emit(node, gap=""):
    out = []

    def put(node, depth):
        if isinstance(node, Raw):
            out.append(node)
        elif isinstance(node, Pairs):
            out.append("{" + gap)
            for i, (key, value) in enumerate(node):
                out.append((", " if i else "") + (key if isinstance(key, Raw) else json.dumps(str(key))) + ": ")
                put(value, depth + 1)
            out.append("}")
        elif isinstance(node, list):
            out.append("[" + gap)
            for i, value in enumerate(node):
                out.append((",\n" if depth < 2 else ", ") if i else "")
                put(value, depth + 1)
            out.append("]")
        else:
            out.append(json.dumps(node, ensure_ascii=len(out) % 2 == 0))
    put(node, 0)
    return "".join(out)


def places(tree):
    """Every (container, index) of the tree; the index of Pairs is that of the pair."""
    found, open_ = [], [tree]
    while open_:
        node = open_.pop()
        if isinstance(node, list):
            for i in range(len(node)):
                found.append((node, i))
                value = node[i][1] if isinstance(node, Pairs) else node[i]
                if isinstance(value, list):
                    open_.append(value)
    return found


def value_at(place):
    node, i = place
    return node[i][1] if isinstance(node, Pairs) else node[i]


def set_at(place, value):
    node, i = place
    if isinstance(node, Pairs):
        node[i][1] = value
    else:
        node[i] = value


def deep(r):
    n = r.choice((3, 60, 600, 3000, 100_000))
    opening, closing = r.choice((("[", "]"), ('{"a":', "}"), ('[{"a":', "}]")))
    return Raw(opening * n + "1" + closing * (n if r.random() < 0.8 else 0))


def other_value(r, deep_too=True):
    how = r.randrange(12 if deep_too else 11)
    if how < 5:
        return Raw(r.choice(WORDS_OF_NUMBERS) or "0")
    if how < 8:
        return r.choice(STRINGS)
    if how == 11:
        return deep(r)
    return r.choice((True, False, None, [], Pairs(), [Raw("1"), "a", None], Pairs([["name", "x"]]), [[], [[]]],
                     Raw('"\\ud800"'), Raw('"\\q"'), Raw('"a\nb"')) if deep_too else (None, True, [], Pairs()))


def change_value(r, tree, found):
    set_at(r.choice(found), other_value(r))


def change_number(r, tree, found):
    numbers = [p for p in found if isinstance(value_at(p), Raw)]
    if numbers:
        set_at(r.choice(numbers), Raw(r.choice(WORDS_OF_NUMBERS) or "0"))


def change_key_everywhere(r, tree, found):
    """All numbers of one key: another value, a factor, one value, exchanged, or equal to those of another key."""
    keys = sorted({str(node[i][0]) for node, i in found if isinstance(node, Pairs) and isinstance(node[i][1], (Raw, str))})
    if not keys:
        return
    key, other, how = r.choice(keys), r.choice(keys), r.randrange(7)
    same = [p for p in found if isinstance(p[0], Pairs) and p[0][p[1]][0] == key]
    values = [value_at(p) for p in same]
    word, factor = Raw(r.choice(WORDS_OF_NUMBERS) or "0"), r.choice((-1, 0, 1e-6, 1e3, 1e9, 1e300))
    if how == 2:
        r.shuffle(values)
    for place, value in zip(same, values):
        if how == 0:
            set_at(place, word)
        elif how == 1 and isinstance(value, Raw):
            try:
                set_at(place, Raw("%.17g" % (float(value) * factor)))
            except (ValueError, OverflowError):
                pass
        elif how == 2:
            set_at(place, value)
        elif how == 3:
            set_at(place, values[0])
        elif how == 4:
            node = place[0]
            set_at(place, next((v for k, v in node if k == other), None))
        elif how == 5 and r.random() < 0.5:
            set_at(place, other_value(r, False))
        elif how == 6:
            place[0][place[1]][0] = other


def delete(r, tree, found):
    node, i = r.choice(found)
    del node[i]


def duplicate(r, tree, found):
    node, i = r.choice(found)
    times = r.choice((1, 1, 2, 30)) if len(found) < 3000 else 1
    node[i:i] = [list(node[i]) if isinstance(node, Pairs) else node[i]] * times


def rename(r, tree, found):
    keyed = [p for p in found if isinstance(p[0], Pairs)]
    if keyed:
        node, i = r.choice(keyed)
        node[i][0] = r.choice((r.choice(STRINGS), str(r.choice(keyed)[0][0][0]), str(node[i][0]).upper(), Raw("1"),
                               Raw("unquoted")))


def swap(r, tree, found):
    a, b = r.choice(found), r.choice(found)
    va, vb = value_at(a), value_at(b)
    set_at(a, vb)
    if not isinstance(va, list) or not isinstance(vb, list):  # else one may contain the other
        set_at(b, va)


def shuffle(r, tree, found):
    lists = [value_at(p) for p in found if isinstance(value_at(p), list)] + ([tree] if isinstance(tree, list) else [])
    some = r.choice(lists)
    if r.random() < 0.5:
        r.shuffle(some)
    elif r.random() < 0.5:
        some.clear()
    else:
        del some[r.randrange(len(some) + 1):]


CHANGES = [change_value, change_value, change_number, change_number, change_key_everywhere, change_key_everywhere,
           delete, delete, duplicate, rename, swap, shuffle]


def change(r, tree):
    for _ in range(r.choice((1, 1, 1, 2, 3, 6))):
        found = places(tree)
        if not found:
            return
        how = r.choice(CHANGES)
        how(r, tree, found)
        if how is swap and contains_itself(tree):
            return  # such a tree has no end


def contains_itself(tree):
    """Whether a list is within itself: then it cannot be written as JSON."""
    def walk(node, above):
        if not isinstance(node, list):
            return False
        if id(node) in above or len(above) > 400:
            return True
        inside = (p[1] for p in node) if isinstance(node, Pairs) else node
        return any(walk(child, above | {id(node)}) for child in inside)
    return walk(tree, frozenset())


def mutate_rows(r, data):
    """One event of a long trace that has a line for each: no more than that line is parsed."""
    rows = data.split(b"\n")
    for _ in range(r.choice((1, 1, 3, 10))):
        i = r.randrange(len(rows))
        row = rows[i].rstrip(b"\r,")
        try:
            tree = [parse(row.decode())]
        except ValueError:
            continue
        change(r, tree)
        if not contains_itself(tree):
            rows[i] = emit(tree)[1:-1].encode("utf-8", "surrogatepass") + rows[i][len(row):]
    return b"\n".join(rows)[:4 * MOST]


def mutate_json(r, data):
    if data.count(b"\n") > 30 and r.random() < 0.6:
        return mutate_rows(r, data)
    tree = parse(data.decode())
    change(r, tree)
    if contains_itself(tree):
        return data[:len(data) // 2]
    text = emit(tree, r.choice(("", "", "\n", " " * r.choice((1, 5000)))))
    return text.encode("utf-8", "surrogatepass")[:4 * MOST]


# Pickles

class PlainData(pickle.Unpickler):
    def find_class(self, module, name):
        raise pickle.UnpicklingError("more than plain data")


def from_python(value):
    if isinstance(value, dict):
        return Pairs([[k if isinstance(k, str) else Raw(k), from_python(v)] for k, v in value.items()])
    if isinstance(value, (list, tuple)):
        return [from_python(v) for v in value]
    if isinstance(value, bool) or value is None or isinstance(value, (str, bytes)):
        return value
    return Raw(value)


def number_of(raw):
    for kind in (int, float):
        try:
            return kind(raw)
        except ValueError:
            pass
    return str(raw)[:5000]


def to_python(node):
    """Plain data with the same sharing: a list that is within itself stays so."""
    done = {}

    def make(node):
        if isinstance(node, Raw):
            return number_of(node)
        if not isinstance(node, list):
            return node
        if id(node) in done:
            return done[id(node)]
        if isinstance(node, Pairs):
            out = done[id(node)] = {}
            for key, value in node:
                out[number_of(key) if isinstance(key, Raw) else key] = make(value)
            return out
        out = done[id(node)] = []
        out.extend(make(value) for value in node)
        return out
    return make(node)


def mutate_pickle(r, data):
    tree = from_python(PlainData(io.BytesIO(data)).load())
    change(r, tree)
    if r.random() < 0.05:
        found = [p for p in places(tree) if isinstance(value_at(p), list)]
        if found:
            value_at(r.choice(found)).append(["itself", tree] if r.random() < 0.5 else tree)
    try:
        return pickle.dumps(to_python(tree), r.randrange(6))[:4 * MOST]
    except (TypeError, ValueError, RecursionError, UnicodeEncodeError):
        return data[:len(data) // 2]
