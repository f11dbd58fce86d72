#!/bin/bash
# check_words.sh [FILE...]: refuses words that make comments and documentation hard to read, and names better ones.
# It reads the comments of sources and the prose of Markdown; code and quoted text are left out. Without files it reads
# all files of the repository.
[ $# -gt 0 ] || { cd "$(dirname "$0")/.." && mapfile -t files < <(git ls-files) && set -- "${files[@]}"; }
exec python3 - "$@" <<'PYTHON'
import re, sys

# A refused word (a regular expression), the reason, better words. A capital letter stands at the start of a sentence.
WORDS = [
    ("beside", "it has many meanings", "with, during, next to, in addition to, compared with"),
    ("tell|told|tells", "it has many meanings", "say, show, give, name, distinguish"),
    ("likewise", "it stands for a verb", "the verb, or 'also'"),
    ("held against", "it has two meanings", "compared with"),
    ("thereby|whoever", "it stands for a noun", "the noun"),
    ("of which", "the noun comes late", "two sentences, or 'whose'"),
    ("(is|are|was|were|has|have|had) none", "it stands for a noun", "'there is no NOUN', 'NOUN is missing'"),
    ("(none) (is|are|was|were|has|have|had|does|do|can|could|goes)", "it stands for a noun", "'no NOUN is'"),
    ("equally many|(so|as) (many|much)(?! as)(?![^.;:]* as )", "it stands for a number", "the number, 'as many as'"),
    ("Of", "the noun comes late", "'the NOUN of'"),
    ("Those (of|that|which|with)", "it stands for a noun", "'the NOUNS of'"),
]

# Files whose words the program prints: tests compare them with its output.
PRINTED = re.compile(r"stepscope/say/.*\.inc|docs/reference/(flags(/\w+)?|plan-fields|terms)\.md|python/stepscope/(verbs|options)\.py")

# The places of comments by kind of file. All else is code.
STRING = r"|\"(?:\\.|[^\"\\\n])*\"|(?<!\w)'(?:\\.|[^'\\\n])*'"
SLASHES = r"//(?P<line>[^\n]*)|/\*(?P<block>.*?)\*/|R\"(?P<end>\w*)\(.*?\)(?P=end)\"" + STRING
SCRIPT = SLASHES + r"|`(?:\\.|[^`\\])*`"
HASHES = r'(?<=\n)\s*"""(?P<block>.*?)"""|(?<!\S)#(?P<line>[^\n]*)|""".*?"""' + STRING
MARKDOWN_CODE = r"^( *)```.*?^\1```|<!--.*?-->|(?<=\n\n)(?:    [^\n]*\n|\n)+"


def hide(text, mark):
    return re.sub(r"[^\s/#]", mark, text)


def comments(text, places):
    """`text` with a mark in place of each character of code."""
    kept, end = [], 0
    for match in re.finditer(places, text, re.S):
        start, stop = max(match.span("line"), match.span("block"))
        if start >= 0:
            kept += [hide(text[end:start], "\0"), text[start:stop]]
            end = stop
    return "".join(kept) + hide(text[end:], "\0")


def prose(name, text):
    """`text` without what is not prose, its lines and columns kept."""
    if name.endswith(".md"):
        text = re.sub(MARKDOWN_CODE, lambda m: hide(m[0], "\0"), text, flags=re.S | re.M)
    else:
        by_kind = SLASHES if re.search(r"\.(cc|h|inc)$", name) else SCRIPT if name.endswith(".js") else HASHES
        text = comments(text, by_kind)
    return re.sub(r"`[^`\0]*`|\"[^\"\0]{0,300}\"", lambda m: hide(m[0], "_"), text)


def pattern(word):
    """Matches the word, also at the start of a sentence and over the end of a line."""
    word = re.sub(r"(^|\|)([a-z])", lambda m: f"{m[1]}[{m[2].upper()}{m[2]}]", word)
    return re.compile(rf"(?<![-\w])(?:{word})\b".replace(" ", r"[\s/#]+"))


faults = 0
patterns = [(pattern(word), *rest) for word, *rest in WORDS]
for name in sys.argv[1:]:
    if PRINTED.search(name) or not re.search(r"\.(cc|h|inc|js|py|sh|cmake|md)$|CMakeLists\.txt$", name):
        continue
    with open(name, encoding="utf-8") as file:
        text = file.read()
    found = [p for p in patterns if p[0].search(text)]
    text = prose(name, text) if found else ""
    for words, reason, better in found:
        for match in words.finditer(text):
            word = re.sub(r"[\s/#]+", " ", match[0])
            print(f"{name}:{text.count(chr(10), 0, match.start()) + 1}: '{word}': {reason}; write {better}")
            faults += 1
sys.exit(f"words: {faults} refused" if faults else None)
PYTHON
