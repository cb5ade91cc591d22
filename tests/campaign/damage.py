"""Ways to spoil a file or a value: by bits, bytes, lines, numbers and, in JSON, by structure."""

import json
from typing import Any

from hypothesis import strategies as st

FEW = st.sampled_from([1, 1, 1, 2, 5])
_NUMBERS = """0 -0 1 -1 0.5 1e-320 1e308 -1e308 nan inf -inf 255 65536 2147483648 9223372036854775808 1e400
0x10 1_000 1,5 ٣ one true 1e --1 +1""".split()
_TEXTS = """- -- . .. / ~ * **x [/x] [bold]x a:b =1+1 @x %s {0} 😀🧑‍🚀 日本語 مرحبا <script>alert(1)</script>
'; " \\ ${HOME} $(id) none null nan 1e999""".split()
_ODD_TEXTS = (
    "",
    " ",
    "\t",
    "\x1b[31mred",
    "a\x07b",
    "a\nb",
    "a\rb",
    "a\u2028b",
    "\u202eabc",
    "\ufeffx",
    "\udcff",
)
_LONG_TEXTS = ("x" * 300, "ä " * 3000, "e\u0301" * 20, "EIN HUND", "Ein alter Mann, der lacht .", "9" * 4301)

NUMBERS = st.sampled_from([*_NUMBERS, "", " ", "9" * 4301]) | st.integers().map(str) | st.floats().map(repr)
TEXTS = st.sampled_from([*_TEXTS, *_ODD_TEXTS, *_LONG_TEXTS]) | st.text(max_size=20)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from([2**63, 10**40]) | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=4,
)


def encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


@st.composite
def flipped_bits(draw: st.DrawFn, content: bytes) -> bytes:
    """Flips one bit or a few."""
    changed = bytearray(content)
    for place in draw(st.lists(st.integers(0, 8 * len(content) - 1), min_size=1, max_size=3)):
        changed[place // 8] ^= 1 << place % 8
    return bytes(changed)


@st.composite
def cut_bytes(draw: st.DrawFn, content: bytes) -> bytes:
    """Leaves bytes out, repeats them, or puts others in their place."""
    start = draw(st.integers(0, len(content)))
    stop = min(len(content), start + draw(st.sampled_from([0, 1, 10, 1000, len(content)])))
    again = content[start:stop] * draw(st.sampled_from([0, 1, 2, 50]))
    other = draw(st.just(again) | st.binary(max_size=300) | TEXTS.map(encode))
    return content[:start] + other + content[stop:]


def recoded(content: bytes) -> st.SearchStrategy[bytes]:
    """Other line ends, other encodings, and contents that are not the file's at all."""
    breaks = [content.replace(b"\n", end) for end in (b"\r\n", b"\r", b"\n\n", b"", b"\x0b", b"\xe2\x80\xa8")]
    others = [b"", bytes(100), b"\n" * 50, content.upper(), b"\xff\xfe" + content, b"\xef\xbb\xbf" + content]
    return st.sampled_from([*breaks, *others])


@st.composite
def changed_lines(draw: st.DrawFn, content: bytes) -> bytes:
    """Exchanges a line or a word; the result often still has the right form."""
    lines = content.split(b"\n")
    here, there = (draw(st.integers(0, len(lines) - 1)) for _ in range(2))
    match draw(st.sampled_from(["swap", "remove", "repeat", "word"])):
        case "swap":
            lines[here], lines[there] = lines[there], lines[here]
        case "remove":
            del lines[here]
        case "repeat":
            lines.insert(here, lines[there])
        case _:
            words = lines[here].split(b" ")
            words[draw(st.integers(0, len(words) - 1))] = encode(draw(NUMBERS | TEXTS))
            lines[here] = b" ".join(words)
    return b"\n".join(lines)


@st.composite
def changed_json(draw: st.DrawFn, content: bytes) -> bytes:
    """Removes, renames or exchanges a value anywhere in a document."""
    try:
        document = json.loads(content)
    except ValueError:  # it was spoilt before
        return draw(cut_bytes(content))
    places: list[tuple[Any, Any]] = []

    def visit(value: Any) -> None:
        if isinstance(value, dict | list):
            for key in list(value) if isinstance(value, dict) else range(len(value)):
                places.append((value, key))
                visit(value[key])

    visit(document)
    if not places:
        return json.dumps(draw(VALUES)).encode()
    holder, key = draw(st.sampled_from(places))
    way = draw(st.sampled_from(["remove", "rename", "move", "exchange"]))
    if way == "remove":
        del holder[key]
    elif way == "rename" and isinstance(holder, dict):
        holder[draw(st.sampled_from(["x", "", "\x1b[31m", f"{key}s"]))] = holder.pop(key)
    elif way == "move":
        source, name = draw(st.sampled_from(places))
        holder[key] = json.loads(json.dumps(source[name]))
    else:
        holder[key] = draw(VALUES)
    return json.dumps(document).encode()


@st.composite
def spoilt(draw: st.DrawFn, name: str, content: bytes) -> bytes:
    """The content of the file with this name, spoilt once or several times."""
    for _ in range(draw(FEW)):
        if content:
            ways = [flipped_bits, cut_bytes, recoded, changed_lines]
            ways += [changed_json] * 4 if name.endswith(".json") else []
            content = draw(draw(st.sampled_from(ways))(content))
    return content
