"""Writes the page: one HTML file that can be opened from a disk, or a folder for a web server.

A browser imports no modules from a disk, so the modules are joined into one script. That is done by a simple
rule: a module begins with imports of the form `import { a, b } from "./x.js";`, or from `"../folder/x.js"`,
exports only declarations, and no two modules declare the same name. Other forms are refused.
"""

import hashlib
import os
import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from augenmerk.base.errors import AugenmerkError
from augenmerk.base.files import atomic_write, is_stream, make_folder
from augenmerk.inference.model import build_inference_model
from augenmerk.run.bundled import BUNDLED_MODEL
from augenmerk.run.description import describe_run
from augenmerk.run.directory import RunDirectory
from augenmerk.translation import Translator
from augenmerk.web import MAX_BEAM
from augenmerk.web.bundle import Bundle, check_browser, make_bundle
from augenmerk.web.examples import CAPTIONS, PICTURE_BOOK, make_example
from augenmerk.web.templates import WEB, dump_json, render_style, render_template

PAGE, ENGINE = "page", "engine"
MAX_RUNS = 2
MAX_EXAMPLES = 50

_IMPORT = re.compile(r'^import \{([\w\s,]+)\} from "(\./|\.\./[\w-]+/)([\w-]+\.js)";\n', re.M)
_EXPORT = re.compile(r"^export ((?:async function|function|class|const)\b\s*\*?\s*(\w+))", re.M)
_DECLARED = re.compile(r"^(?:async function|function|class|const|let)\b\s*\*?\s*(\w+)", re.M)
_NOT_JOINED = re.compile(r"^(?:import\b|export\b|var\b|(?:const|let)\s*[\[{]).*", re.M)


@dataclass(frozen=True)
class Page:
    """What an exported page consists of."""

    bundles: Sequence[Bundle]
    models: Sequence[Mapping[str, Any]]
    """What the page shows of each model before reading it."""
    beam: int
    examples: Sequence[Mapping[str, Any]]
    """Sentences with one stored translation by each model: `source` and `translations`."""
    notes: Sequence[str] = ()
    """Sentences about what differs between the page and the runs."""

    @property
    def title(self) -> str:
        return f"Augenmerk: {', '.join(model['name'] for model in self.models)}"


def make_page(paths: Sequence[Path], *, beam: int | None = None, examples: Sequence[str] = ()) -> Page:
    """Makes a page of one run, or of two that are compared; by default of the bundled model.

    Without examples, German ones are taken if the runs read German. Raises AugenmerkError if a run cannot be
    exported, or if two do not translate between the same languages.
    """
    if len(paths) > MAX_RUNS:
        raise AugenmerkError(
            f"A page shows one run, or two side by side, not {len(paths)}; an ensemble cannot be exported."
        )
    if len(examples) > MAX_EXAMPLES:
        raise AugenmerkError(f"A page has room for {MAX_EXAMPLES} examples, not for {len(examples)}.")
    runs = [RunDirectory.open(path) for path in paths or [BUNDLED_MODEL]]
    _check_runs(runs)
    exported = [_export_run(run, name) for run, name in zip(runs, _name(runs), strict=True)]
    asked = beam or runs[0].config.search.beam
    width = min(asked, MAX_BEAM)
    notes = []
    if asked > width:
        notes.append(f"The run has a beam of {asked}; a page has at most {width}, and begins with it.")
    if not examples and runs[0].config.data.languages[0] == "de":
        has_bundled = any(run.path.resolve() == BUNDLED_MODEL.resolve() for run in runs)
        examples = CAPTIONS if has_bundled else PICTURE_BOOK
    return Page(
        bundles=[bundle for bundle, _, _ in exported],
        models=[described for _, described, _ in exported],
        beam=width,
        examples=[
            {"source": text, "translations": [make_example(each, text, width) for _, _, each in exported]}
            for text in dict.fromkeys(examples)
        ],
        notes=notes,
    )


def _check_runs(runs: Sequence[RunDirectory]) -> None:
    """Raises AugenmerkError if a browser cannot run them, or if their languages differ."""
    for run in runs:
        check_browser(run.config.model, str(run.path))
    languages = [run.config.data.languages for run in runs]
    if len(set(languages)) > 1:
        one, other = (f"from {source or '?'} to {target or '?'}" for source, target in languages)
        raise AugenmerkError(
            f"{runs[0].path} translates {one} and {runs[1].path} {other}: two runs in one page need the same "
            f"languages."
        )


def _name(runs: Sequence[RunDirectory]) -> list[str]:
    """Returns the names of the folders, as text; never whole paths, because a page is given to others.

    If two have the same name, their parent folders are named as well; if those are the same, numbers.
    """
    for parts in (1, 2):
        names = ["/".join(run.path.resolve().parts[-parts:]) for run in runs]
        if len(set(names)) == len(names):
            break
    else:
        names = [f"{name} ({number})" for number, name in enumerate(names, 1)]
    return [os.fsencode(name).decode("utf-8", "replace") for name in names]


def _export_run(run: RunDirectory, name: str) -> tuple[Bundle, dict[str, Any], Translator]:
    """Returns the model for the browser, what the page shows of it before, and a translator for examples.

    The translator has the weights of the page, so that stored examples are what the page computes.
    """
    arrays, tokenizers = run.load_model(), run.tokenizers
    with np.errstate(over="ignore"):  # `make_bundle` reports it
        rounded = {key: array.astype(np.float16) for key, array in arrays.items()}
    sizes = tokenizers.source.size, tokenizers.target.size
    model = build_inference_model(run.config.model, rounded, *sizes, str(run.model_path))
    translator = Translator.from_runs([run], models=[model])
    bundle = make_bundle(translator, name, arrays)
    described = {
        "name": name,
        **describe_run(run.config),
        "unit": bundle.settings["tokenizers"]["source"]["unit"],
        "licence": bundle.settings["licence"],
        "rounded": any(array.dtype != np.float16 for array in arrays.values()),
    }
    return bundle, described, translator


def is_one_file(path: Path) -> bool:
    """Returns whether a path names a page and not a folder; raises AugenmerkError if it names neither."""
    if is_stream(path):
        return True
    if path.suffix.lower() in (".html", ".htm"):
        if path.is_dir():
            raise AugenmerkError(f"{path} is a folder; give the page another name.")
        return True
    if path.suffix and not path.is_dir():
        raise AugenmerkError(
            f"{path}: the name of a page ends in .html; for a folder, give a name without an ending."
        )
    return False


def check_place(path: Path, *, overwrite: bool) -> None:
    """Raises AugenmerkError if a page cannot be written to a path, as far as can be checked beforehand."""
    one_file = is_one_file(path)
    if str(path) == "-":
        raise AugenmerkError("A page is written to a file or a folder, e.g. page.html, not to stdout (-).")
    if one_file and not path.parent.is_dir():
        raise AugenmerkError(f"{path}: cannot be written: there is no folder {path.parent}.")
    first = path if one_file else path / "index.html"
    if not is_stream(path) and first.exists() and not overwrite:
        raise AugenmerkError(f"{first} is already there; pass --overwrite, or choose another name.")


def export_page(page: Page, path: Path, *, overwrite: bool = False) -> Path:
    """Writes the page as one file or as a folder, and returns the file to open.

    Models and weights of an earlier page in the folder that are not part of this one are removed.
    Raises AugenmerkError if that would replace something and `overwrite` is false.
    """
    check_place(path, overwrite=overwrite)
    if is_one_file(path):
        atomic_write(path, [render_file(page).encode()])
        return path
    files = render_folder(page)
    left_over = [name for name in _find_exported(path) if name not in files]
    write_folder(path, files, overwrite=overwrite)
    for name in left_over:
        (path / name).unlink()
    return path / "index.html"


def write_folder(folder: Path, files: Mapping[str, bytes], *, overwrite: bool) -> None:
    """Writes files into a folder; raises AugenmerkError if one is there already and `overwrite` is false."""
    for name in files:
        if (folder / name).exists() and not overwrite:
            raise AugenmerkError(
                f"{folder / name} is already there; pass --overwrite, or choose another folder."
            )
    make_folder(folder)
    for name, content in files.items():
        atomic_write(folder / name, [content])


def _find_exported(folder: Path) -> list[str]:
    """Returns the models and weights in a folder that an earlier export wrote, and nobody changed since.

    The page that it wrote has their names with digests of what was in them.
    """
    page = folder / "index.html"
    if not page.is_file():
        return []
    text = page.read_bytes().decode("utf-8", "replace")
    named = set(re.findall(r'"((?:model|weights)(?:-\d+)?\.(?:json|bin))\?[0-9a-f]{12}"', text))
    files = {name: (folder / name).read_bytes() for name in named if (folder / name).is_file()}
    return [name for name, content in files.items() if f'"{make_address(name, content)}"' in text]


def render_file(page: Page) -> str:
    """Renders the page as one file that needs nothing else."""
    style, script = render_style(), join_modules(WEB / PAGE, "start.js")
    return render_template(
        "page/page.html",
        title=page.title,
        policy=make_policy(hash_for_policy(script), hash_for_policy(style), "worker-src blob:; "),
        data=_describe_page(page, None, page.models),
        one_file=True,
        style=style,
        script=script,
        engine=join_modules(WEB / ENGINE, "worker.js"),
        models=[
            {"settings": bundle.settings, "weights": b64encode(bundle.weights).decode()}
            for bundle in page.bundles
        ],
    )


def render_folder(page: Page) -> dict[str, bytes]:
    """Renders the page as files for a web server: their names and contents; the page comes last.

    Addresses end in a digest of the file, so that a browser may keep files and still notices new ones.
    """
    files = {
        "page.css": render_style().encode(),
        "page.js": join_modules(WEB / PAGE, "start.js").encode(),
        "engine.js": join_modules(WEB / ENGINE, "worker.js").encode(),
    }
    models = []
    for number, (bundle, described) in enumerate(zip(page.bundles, page.models, strict=True), 1):
        last = "" if number == 1 else f"-{number}"
        settings, weights = f"model{last}.json", f"weights{last}.bin"
        files |= {settings: dump_json(bundle.settings).encode(), weights: bundle.weights}
        addresses = {"settings": settings, "weights": weights}
        models.append(
            {**described, **{key: make_address(name, files[name]) for key, name in addresses.items()}}
        )
    files["index.html"] = render_template(
        "page/page.html",
        title=page.title,
        policy=make_policy("self", "self", "connect-src 'self'; worker-src 'self'; "),
        data=_describe_page(page, make_address("engine.js", files["engine.js"]), models),
        one_file=False,
        style_address=make_address("page.css", files["page.css"]),
        script_address=make_address("page.js", files["page.js"]),
    ).encode()
    return files


def _describe_page(page: Page, engine: str | None, models: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {
        "beam": page.beam,
        "max_beam": MAX_BEAM,
        "examples": page.examples,
        "engine": engine,
        "models": models,
    }


def join_modules(folder: Path, entry: str) -> str:
    """Joins a module and all that it imports into one script; raises ValueError if the rule is broken.

    Modules of the folder go by their names, those of a folder beside it by folder and name.
    """
    parts: dict[str, str] = {}  # in the order in which they have to run
    declared: dict[str, str] = {}
    exported: dict[str, set[str]] = {}

    def add(name: str, importers: tuple[str, ...]) -> None:
        if name in importers:
            raise ValueError(f"{name}: modules import each other in a circle")
        if name in parts:
            return
        text = (folder / name).read_text(encoding="utf-8")
        inside = name.rpartition("/")[0]  # the folder that the module is in, unless it is that of the entry
        for match in _IMPORT.finditer(text):
            other = f"{inside}/{match[3]}" if match[2] == "./" and inside else f"{match[2]}{match[3]}"
            other = other.removeprefix("./").removeprefix(f"../{folder.name}/")
            add(other, (*importers, name))
            missing = {each.strip() for each in match[1].split(",")} - {""} - exported[other]
            if missing:
                raise ValueError(f"{name}: {other} does not export {', '.join(sorted(missing))}")
        text = _IMPORT.sub("", text)
        exported[name] = {match[2] for match in _EXPORT.finditer(text)}
        text = _EXPORT.sub(r"\1", text)
        if found := _NOT_JOINED.search(text):
            raise ValueError(f"{name}: this cannot be joined: {found[0]}")
        for each in _DECLARED.findall(text):
            if each in declared:
                raise ValueError(f"{name}: {each} is also declared in {declared[each]}")
            declared[each] = name
        parts[name] = text.strip()

    add(entry, ())
    script = "\n\n".join(f"// -- {name}\n\n{text}" for name, text in parts.items())
    if re.search("</script|<!--", script, re.I):
        raise ValueError(f"{entry}: a script in a page must not contain </script or <!--")
    return f'"use strict";\n(() => {{\n{script}\n}})();\n'


def make_policy(scripts: str, styles: str, more: str = "") -> str:
    """Returns the policy of an exported page: where scripts and styles may come from, and what else may."""
    return (
        f"default-src 'none'; script-src '{scripts}'; style-src '{styles}'; {more}img-src data:; "
        f"base-uri 'none'; form-action 'none'"
    )


def hash_for_policy(text: str) -> str:
    return f"sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def make_address(name: str, content: bytes) -> str:
    return f"{name}?{hashlib.sha256(content).hexdigest()[:12]}"
