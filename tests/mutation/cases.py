# SPDX-License-Identifier: Apache-2.0
"""A run's number becomes a case: the files of a folder, and the command line that is run in it."""
import random
import zlib
from dataclasses import dataclass, field

import mutate_arguments
import mutate_bytes
import mutate_containers
import mutate_tree
from seeds import JSON, MESSAGE, PICKLE, SQLITE, TEXT, File

OUTPUTS = {  # the outputs of each verb, and how often each is asked for
    "analyze": {"--json": 0.85, "--html": 0.03, "--csv": 0.08, "--perfetto": 0.04}, "whatif": {"--json": 0.8},
    "check": {"--json": 0.8}, "memory": {"--json": 0.8, "--html": 0.05}, "hang": {"--json": 0.8}, "digest": {"--json": 0.8},
    "live": {"--json": 0.8},
    "stacks": {"--json": 0.8, "--html": 0.05, "--csv": 0.1}, "compare": {"--json": 0.8, "--csv": 0.1},
    "sweep": {"--json": 0.8, "--csv": 0.1}, "runs": {"--json": 0.8}, "predict": {"--json": 0.8, "--html": 0.05, "--csv": 0.1},
    "plan": {"--json": 0.8, "--html": 0.05, "--csv": 0.1}, "train": {"--json": 0.8, "--csv": 0.1}}
ONE_INPUT = {"predict", "plan"}   # verbs whose file is one positional word, or the name of a model
NAMES = {"--json": "out.json", "--html": "out.html", "--csv": "out.csv.d"}


@dataclass
class Case:
    number: int
    verb: str
    kind: str
    files: dict            # name: bytes
    arguments: list        # strings behind the program
    outputs: dict = field(default_factory=dict)   # flag: name of the file or folder, or "-"
    words_changed: bool = False   # the command line is not sound
    bomb: bool = False


def mutate_data(r, file, others):
    """One file, once."""
    data, form, how = file.data, file.form, r.random()
    try:
        if how < 0.06 and others:
            return mutate_bytes.splice(r, data, r.choice(others).data)
        if form == JSON and how < 0.8:
            return mutate_tree.mutate_json(r, data)
        if form == TEXT and how < 0.85 or form == JSON and how < 0.86:
            return mutate_bytes.text(r, data)
        if form == PICKLE and how < 0.7:
            return mutate_tree.mutate_pickle(r, data)
        if form == SQLITE and how < 0.75:
            return mutate_containers.mutate_sqlite(r, data)
        if form == MESSAGE and how < 0.75:
            return mutate_containers.mutate_message(r, data)
    except (ValueError, RecursionError, UnicodeDecodeError, MemoryError):
        pass  # an earlier mutation has broken the structure
    except Exception as error:
        if not isinstance(error, (EOFError, IndexError, KeyError, AttributeError, TypeError, OverflowError)) and \
                type(error).__module__ not in ("_pickle", "pickle"):
            raise
    return mutate_bytes.mutate(r, data)


def mutate_file(r, file, others):
    out = File(file.name, file.data, file.form, file.zipped)
    for _ in range(r.choice((1, 1, 1, 2, 4))):
        out.data = mutate_data(r, out, others)
    return out


def several(r, files, foreign):
    """Files of one job: one is lost, stands twice, has another's name, is empty, or of another kind."""
    names = [f.name for f in files]
    how, i, j = r.randrange(7), r.randrange(len(files)), r.randrange(len(files))
    if how == 0 and len(files) > 1:
        del files[i]
    elif how == 1:
        files.append(File("again_" + names[i], files[i].data, files[i].form))
    elif how == 2 and i != j:
        files[i].data, files[j].data = files[j].data, files[i].data
    elif how == 3:
        files[i].data = b""
    elif how == 4:
        other = r.choice(foreign)
        files.append(File("z_" + other.name, other.data, other.form))
    elif how == 5:
        files[i].data = files[j].data
    else:
        files[i].name = r.choice(("rank7.json", "rank-1.json", "a b.json", "ä.json", "rank99999999999.json", "x\ty", "=1", "nan",
                                  "rank0.json", "-x", "a\x1bb", "\u202etxt", "n" * 200))
        if files[i].name in names[:i] + names[i + 1:]:
            files[i].name += "_"
    return [f.name for f in files]


def make(number, run_seed, seeds, sides, flags):
    r = random.Random("%s/%s" % (run_seed, number))
    seed = r.choices(seeds, weights_of(seeds))[0]
    files = [File(f.name, f.data, f.form, f.zipped) for f in seed.files]
    arguments, named = list(seed.arguments), [f.name for f in files]
    case = Case(number, seed.verb, seed.kind, {}, [])
    star = "*" in arguments
    foreign = [f for s in (r.choice(seeds), r.choice(seeds), r.choice(seeds)) for f in s.files] or files
    added = []
    for _ in range(r.choice((0, 0, 1, 1, 2))):
        if seed.flags:
            words = r.choice(seed.flags)
            if words[0] == "--change" or words[0] not in added + arguments:
                added += words
    known = {f for f, _ in flags.get(seed.verb, [])}
    if r.random() < 0.06:
        flag = r.choice(sorted(sides))
        if flag in known and flag not in added + arguments:
            side = sides[flag]
            files.append(mutate_file(r, side, foreign) if r.random() < 0.9 else side)
            added += [flag, files[-1].name]
    changes_words = not files or r.random() < 0.12
    data = [i for i in range(len(seed.files))]
    if data and (not changes_words or r.random() < 0.3):
        for i in r.sample(data, 1 if r.random() < 0.7 else r.randrange(len(data)) + 1):
            files[i] = mutate_file(r, files[i], foreign)
    if star and data and r.random() < (0.25 if len(data) > 1 else 0.04):
        inputs = files[:len(data)]
        named = several(r, inputs, foreign)
        files = inputs + files[len(data):]
        case.words_changed = seed.verb in ONE_INPUT
    for file in files:
        if file.zipped and r.random() < 0.12:
            case.bomb = r.random() < 0.04
            file.data = mutate_containers.bomb(r, file.data) if case.bomb else mutate_containers.packed(r, file.data)
            renamed = file.name + r.choice((".gz", ".zst", "", ".gz"))
            named = [renamed if n == file.name else n for n in named]
            arguments = [renamed if n == file.name else n for n in arguments]
            file.name = renamed
    if star and len(named) > 1 and r.random() < 0.2:
        named = [r.choice((".", "*"))] if not any("/" in n for n in named) else named
        case.words_changed |= seed.verb in ONE_INPUT
    elif star and named and r.random() < 0.02:
        named = named + [r.choice((named[0], "missing.json", "*.none", "."))]
        case.words_changed |= seed.verb in ONE_INPUT
    at = arguments.index("--") if "--" in arguments else len(arguments)
    arguments[at:at] = added
    if changes_words:
        case.words_changed = True
        for _ in range(r.choice((1, 1, 2))):
            arguments = mutate_arguments.change(r, seed.verb, arguments, flags)
    if seed.verb == "live" and "--once" not in arguments:
        arguments.insert(0, "--once")   # it ends
    for flag, share in OUTPUTS.get(seed.verb, {}).items():
        if r.random() < share and flag not in arguments and "--help" not in arguments:
            name = NAMES.get(flag) or r.choice(("out.pftrace", "out.pftrace.gz", "out.perfetto.json", "out.perfetto.json.gz"))
            if flag == "--json" and r.random() < 0.05:
                name = "-"
            case.outputs[flag] = name
            at = arguments.index("--") if "--" in arguments else len(arguments)
            arguments[at:at] = [flag, name]
    for i, word in enumerate(arguments):
        if word == "*":
            arguments[i:i + 1] = ["./" + n if n.startswith("-") else n for n in named]
            break
    case.files = {f.name: f.data for f in files}
    case.arguments = [seed.verb] + arguments
    return case


def weights_of(seeds, kept={}):
    if kept.get("of") is not seeds:
        kept["of"], kept["weights"] = seeds, [s.weight for s in seeds]
    return kept["weights"]


def fingerprint(case):
    """A number that is equal for equal cases."""
    text = repr((case.arguments, sorted((n, zlib.crc32(d)) for n, d in case.files.items())))
    return zlib.crc32(text.encode("utf-8", "surrogatepass"))
