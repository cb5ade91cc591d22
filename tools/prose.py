"""Counts phrases that read as translated, and finds sentences that are too long.

    python tools/prose.py [PATH ...]

fails if there are too many. tools/prose_patterns.toml has the phrases, the limits and the paths.
Markdown is read without its code; Python and JavaScript contribute comments and texts of four words or more,
and templates what is between tags.
"""

import ast
import re
import subprocess
import sys
import tokenize
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

from markdown_it import MarkdownIt

ROOT = Path(__file__).resolve().parents[1]
RULES = tomllib.loads((ROOT / "tools" / "prose_patterns.toml").read_text(encoding="utf-8"))
PHRASES = {advice: re.compile(pattern, re.IGNORECASE) for advice, pattern in RULES["phrases"].items()}
IN_MARKDOWN = {
    advice: re.compile(pattern, re.IGNORECASE) for advice, pattern in RULES["phrases_in_markdown"].items()
}
MARKDOWN = MarkdownIt("commonmark").enable("table")
SCRIPT_TEXT = re.compile(r"//[^\n]*|/\*.*?\*/|\"[^\"\n]+\"|'[^'\n]+'|`[^`]+`", re.DOTALL)
TEMPLATE_TEXT = re.compile(r"(?<=>)[^<>{}]+(?=<)")
CODE_IN_TEXT = re.compile(r"`[^`]*`|\{[^}]*\}")
LEAST_WORDS = 4

Texts = Iterator[tuple[int, str]]
"""Paragraphs, comments and strings, each with the number of its line."""


def read_markdown(source: str) -> Texts:
    for token in MARKDOWN.parse(re.sub(r"<!--.*?-->", "", source, flags=re.DOTALL)):
        if token.type == "inline" and token.children and token.map:
            parts = ("x" if each.type == "code_inline" else each.content or " " for each in token.children)
            yield token.map[0] + 1, "".join(parts)


def read_python(source: str) -> Texts:
    for token in tokenize.generate_tokens(iter(source.splitlines(keepends=True)).__next__):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string.lstrip("# ")
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            for paragraph in node.value.split("\n\n"):
                yield node.lineno, CODE_IN_TEXT.sub("x", paragraph)


def read_script(source: str) -> Texts:
    for match in SCRIPT_TEXT.finditer(source):
        yield source.count("\n", 0, match.start()) + 1, CODE_IN_TEXT.sub("x", match[0].strip("/* \"'`"))


def read_template(source: str) -> Texts:
    for match in TEMPLATE_TEXT.finditer(source):
        yield source.count("\n", 0, match.start()) + 1, match[0]


READERS = {".md": read_markdown, ".py": read_python, ".js": read_script, ".html": read_template}


def find_phrases(text: str, patterns: Mapping[str, re.Pattern[str]]) -> Iterator[tuple[str, str]]:
    """Yields the phrases in a text, each with what to write instead."""
    for advice, pattern in patterns.items():
        for match in pattern.finditer(text):
            yield text[max(0, match.start() - 30) : match.end() + 30], advice


def find_long_sentences(text: str) -> Iterator[str]:
    for sentence in re.split(r"(?<=[.!?:;]) ", text):
        if len(sentence.split()) > RULES["longest_sentence"]:
            yield sentence


def list_files(paths: list[str]) -> list[Path]:
    tracked = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *(paths or RULES["read"])],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    files = (ROOT / line for line in tracked.stdout.splitlines())
    return [
        each for each in files if each.suffix in READERS and each.is_file() and each.name != "translator.html"
    ]


def main(paths: list[str]) -> int:
    """Prints what was found; returns 1 if it is more than the limits allow, otherwise 0."""
    words = 0
    phrases: list[str] = []
    long_sentences: list[str] = []
    for path in list_files(paths):
        patterns = PHRASES | IN_MARKDOWN if path.suffix == ".md" else PHRASES
        for line, text in READERS[path.suffix](path.read_text(encoding="utf-8")):
            text = " ".join(text.split())
            if path.suffix != ".md" and text.count(" ") < LEAST_WORDS - 1:
                continue
            place = f"{path.relative_to(ROOT)}:{line}"
            words += len(text.split())
            phrases += [f"{place}: ...{found}...: {advice}" for found, advice in find_phrases(text, patterns)]
            if path.suffix == ".md":
                long_sentences += [
                    f"{place}: {len(each.split())} words: {each[:80]}..."
                    for each in find_long_sentences(text)
                ]
    rate = 1000 * len(phrases) / max(1, words)
    failed = bool(long_sentences) or rate > RULES["most_phrases"]
    if failed or paths:
        sys.stdout.writelines(f"{each}\n" for each in phrases + long_sentences)
    sys.stdout.write(
        f"{words:,} words: {len(phrases)} phrases, {rate:.2f} for each 1,000 words (at most "
        f"{RULES['most_phrases']}); {len(long_sentences)} sentences over {RULES['longest_sentence']} words\n"
    )
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
