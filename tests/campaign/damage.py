"""Ways to spoil a file or a value: by bits, bytes, lines, numbers and, in JSON, by structure."""

import json
import random
from typing import Any

NUMBERS = (
    *(
        "0",
        "-0",
        "1",
        "2",
        "3",
        "-1",
        "0.5",
        "1.0",
        "-0.5",
        "1e-320",
        "1e308",
        "-1e308",
        "nan",
        "inf",
        "-inf",
    ),
    *("7", "50", "255", "65536", "2147483647", "2147483648", "9223372036854775807", "9223372036854775808"),
    *("1e400", "0x10", "1_000", "1,5", "٣", "9" * 40, "9" * 4301, "", " ", "one", "true", "1e", "--1", "+1"),
)
TEXTS = (
    *(
        "",
        " ",
        "\t",
        "-",
        "--",
        ".",
        "..",
        "/",
        "~",
        "*",
        "**x",
        "[/x]",
        "[bold]x",
        "a:b",
        "=1+1",
        "@x",
        "%s",
        "{0}",
    ),
    *(
        "\x1b[31mred",
        "a\x07b",
        "a\nb",
        "a\rb",
        "a\u2028b",
        "\u202eabc",
        "\ufeffx",
        "e\u0301" * 20,
        "😀🧑‍🚀",
        "日本語",
        "مرحبا",
    ),
    *(
        "<script>alert(1)</script>",
        "'; DROP",
        '"',
        "\\",
        "${HOME}",
        "$(id)",
        "x" * 300,
        "ä " * 3000,
        "none",
        "null",
    ),
    *("Ein Hund läuft.", "EIN HUND", "Ein alter Mann, der lacht .", "\ud800", "\udcff", "nan", "-1", "1e999"),
)
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2**63, 10**40, 0.5, -0.0, 1e308, float("nan"), float("inf")),
    *(
        "",
        "x",
        "\x1b[31m",
        "[/x]",
        "=1+1",
        "<b>",
        "x" * 1000,
        [],
        [None],
        [[]],
        [1, "a"],
        {},
        {"a": 1},
        {"": {}},
    ),
)


def spoil_bytes(rng: random.Random, content: bytes) -> bytes:
    """Returns the content with a bit flipped, cut off, something inserted, removed, doubled or replaced."""
    way = rng.randrange(9)
    place = rng.randrange(len(content) + 1)
    other = rng.randrange(len(content) + 1)
    start, stop = min(place, other), min(max(place, other), min(place, other) + rng.choice([1, 10, 1000]))
    if way <= 1 and content:
        place = rng.randrange(len(content))
        return content[:place] + bytes([content[place] ^ (1 << rng.randrange(8))]) + content[place + 1 :]
    if way == 2:
        return content[:place]
    if way == 3:
        return content[:start] + content[stop:]
    if way == 4:
        return content[:stop] + content[start:stop] * rng.choice([1, 2, 50]) + content[stop:]
    if way == 5:
        return content[:place] + rng.randbytes(rng.choice([1, 2, 8, 300])) + content[place:]
    if way == 6:
        text = rng.choice(TEXTS).encode("utf-8", "surrogatepass")
        return content[:place] + text + content[place:]
    if way == 7:
        return rng.choice(
            [
                b"",
                b"\x00" * 100,
                b"\xff\xfe" + content,
                b"\xef\xbb\xbf" + content,
                b"\n" * 50,
                content.upper(),
            ]
        )
    return content.replace(b"\n", rng.choice([b"\r\n", b"\r", b"\n\n", b"", b"\x0b", b"\xe2\x80\xa8"]))


def spoil_text(rng: random.Random, content: bytes) -> bytes:
    """Returns the content with a line or a word exchanged; the result often still has the right form."""
    lines = content.split(b"\n")
    here, there = rng.randrange(len(lines)), rng.randrange(len(lines))
    way = rng.randrange(5)
    if way == 0:
        lines[here], lines[there] = lines[there], lines[here]
    elif way == 1:
        del lines[here]
    elif way == 2:
        lines.insert(here, lines[there])
    else:
        words = lines[here].split(b" ")
        pool = NUMBERS if way == 3 else TEXTS
        words[rng.randrange(len(words))] = rng.choice(pool).encode("utf-8", "surrogatepass")
        lines[here] = b" ".join(words)
    return b"\n".join(lines)


def spoil_json(rng: random.Random, content: bytes) -> bytes:
    """Returns the document with a value, chosen anywhere in it, removed, renamed or exchanged."""
    try:
        document = json.loads(content)
    except ValueError:  # it was spoilt before
        return spoil_bytes(rng, content)
    places: list[tuple[Any, Any]] = []

    def visit(value: Any) -> None:
        keys = (
            list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
        )
        for key in keys:
            places.append((value, key))
            visit(value[key])

    visit(document)
    if not places or rng.random() < 0.02:
        return json.dumps(rng.choice(VALUES)).encode()
    holder, key = rng.choice(places)
    way = rng.randrange(4)
    if way == 0:
        del holder[key]
    elif way == 1 and isinstance(holder, dict):
        holder[rng.choice(["x", "", "\x1b[31m", key + "s"])] = holder.pop(key)
    elif way == 2:
        source, name = rng.choice(places)
        if name in (source if isinstance(source, dict) else range(len(source))):
            holder[key] = json.loads(json.dumps(source[name]))
    else:
        holder[key] = rng.choice(VALUES)
    return json.dumps(document).encode()


def spoil(rng: random.Random, name: str, content: bytes) -> bytes:
    """Returns the content of the file with this name, spoilt in a way that suits its format."""
    if name.endswith(".json") and rng.random() < 0.6:
        return spoil_json(rng, content)
    return rng.choice([spoil_bytes, spoil_text])(rng, content)
