"""Writes the page: one HTML file that can be opened from a disk, or a folder for a web server.

A browser imports no modules from a disk, so the modules are joined into one script. That is done by a simple
rule: a module begins with imports of the form `import { a, b } from "./x.js";`, or from `"../folder/x.js"`,
exports only declarations, and no two modules declare the same name. Whatever is otherwise is refused.
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
from augenmerk.inference import build_inference_model
from augenmerk.run.bundled import BUNDLED_MODEL
from augenmerk.run.directory import RunDirectory
from augenmerk.text.familiarity import Familiarity
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
    """What the page shows of each model before it has been read."""
    beam: int
    examples: Sequence[Mapping[str, Any]]
    """Sentences with one stored translation by each model: `source` and `translations`."""
    notes: Sequence[str] = ()
    """Sentences about what is otherwise in the page than in the runs."""

    @property
    def title(self) -> str:
        return f"Augenmerk: {', '.join(model['name'] for model in self.models)}"


def make_page(paths: Sequence[Path], *, beam: int | None = None, examples: Sequence[str] = ()) -> Page:
    """Makes a page of one run, or of two that are compared; by default of the model that ships.

    Without examples, those of German are taken if the runs read German. Raises AugenmerkError if a run cannot
    be exported, or if two do not translate between the same languages.
    """
    if len(paths) > MAX_RUNS:
        raise AugenmerkError(
            f"A page shows one run, or two side by side, not {len(paths)}; an ensemble cannot be exported."
        )
    if len(examples) > MAX_EXAMPLES:
        raise AugenmerkError(f"A page has room for {MAX_EXAMPLES} examples, not for {len(examples)}.")
    runs = [RunDirectory.open(path) for path in paths or [BUNDLED_MODEL]]
    for run in runs:
        check_browser(run.config.model, str(run.path))
    names = _name(runs)
    bundles = [make_bundle(Translator.from_runs([run]), name) for run, name in zip(runs, names, strict=True)]
    languages = [
        (bundle.settings["source_language"], bundle.settings["target_language"]) for bundle in bundles
    ]
    if len(set(languages)) > 1:
        one, other = (f"from {source or '?'} to {target or '?'}" for source, target in languages)
        raise AugenmerkError(
            f"{runs[0].path} translates {one} and {runs[1].path} {other}: two runs in one page need the same "
            f"languages."
        )
    translators = [_round_weights(run) for run in runs]
    asked = beam or runs[0].config.search.beam
    width = min(asked, MAX_BEAM)
    notes = []
    if asked > width:
        notes.append(
            f"The run searches with a beam of {asked}; a page has one of {width} at most, and begins with it."
        )
    if not examples and languages[0][0] == "de":
        examples = (
            CAPTIONS if any(run.path.resolve() == BUNDLED_MODEL.resolve() for run in runs) else PICTURE_BOOK
        )
    return Page(
        bundles=bundles,
        models=[_describe(run, bundle) for run, bundle in zip(runs, bundles, strict=True)],
        beam=width,
        examples=[
            {"source": text, "translations": [make_example(each, text, width) for each in translators]}
            for text in dict.fromkeys(examples)
        ],
        notes=notes,
    )


def _name(runs: Sequence[RunDirectory]) -> list[str]:
    """Returns the names of the folders; never whole paths, for a page is given to others, and never bytes.

    If two have the same name, the folders that they are in are named too; if those are the same, numbers.
    """
    for parts in (1, 2):
        names = ["/".join(run.path.resolve().parts[-parts:]) for run in runs]
        if len(set(names)) == len(names):
            break
    else:
        names = [f"{name} ({number})" for number, name in enumerate(names, 1)]
    return [os.fsencode(name).decode("utf-8", "replace") for name in names]


def _round_weights(run: RunDirectory) -> Translator:
    """Loads a run with the weights that the page has, so that stored examples are what the page computes."""
    arrays = {name: array.astype(np.float16) for name, array in run.load_model().items()}
    tokenizers = run.tokenizers
    sizes = tokenizers.source.size, tokenizers.target.size
    model = build_inference_model(run.config.model, arrays, *sizes, str(run.model_path))
    familiarity = Familiarity.of_run(tokenizers.source, run.read_familiarity(), run.path)
    return Translator([model], tokenizers, run.config, runs=[run], familiarity=familiarity)


def _describe(run: RunDirectory, bundle: Bundle) -> dict[str, Any]:
    settings = bundle.settings
    return {
        "name": settings["name"],
        "source_language": settings["source_language"],
        "target_language": settings["target_language"],
        "architecture": settings["config"]["model"]["architecture"],
        "attention": settings["config"]["model"]["attention"],
        "unit": settings["tokenizers"]["source"]["unit"],
        "licence": settings["licence"],
        "rounded": any(array.dtype != np.float16 for array in run.load_model().values()),
    }


def is_one_file(place: Path) -> bool:
    """Returns whether a place is the name of a page rather than of a folder.

    Raises AugenmerkError if its ending is that of something else.
    """
    if is_stream(place):
        return True
    if place.suffix.lower() in (".html", ".htm"):
        if place.is_dir():
            raise AugenmerkError(f"{place} is a folder; give the page another name.")
        return True
    if place.suffix and not place.is_dir():
        raise AugenmerkError(
            f"{place}: the name of a page ends in .html; for a folder, give a name without an ending."
        )
    return False


def check_place(place: Path, *, overwrite: bool) -> None:
    """Raises AugenmerkError if a page cannot be written to a place, as far as that can be seen beforehand."""
    one_file = is_one_file(place)
    if str(place) == "-":
        raise AugenmerkError("A page is written to a file or a folder, e.g. page.html, not to stdout (-).")
    if one_file and not place.parent.is_dir():
        raise AugenmerkError(f"{place}: cannot be written, for there is no folder {place.parent}.")
    first = place if one_file else place / "index.html"
    if not is_stream(place) and first.exists() and not overwrite:
        raise AugenmerkError(f"{first} is already there; pass --overwrite, or choose another name.")


def export_page(page: Page, place: Path, *, overwrite: bool = False) -> Path:
    """Writes the page as one file or as a folder, and returns the file to open.

    Models and weights of an earlier page in the folder that are not part of this one are removed.
    Raises AugenmerkError if that would replace something and `overwrite` is false.
    """
    check_place(place, overwrite=overwrite)
    if is_one_file(place):
        atomic_write(place, [render_file(page).encode()])
        return place
    files = render_folder(page)
    left_over = [name for name in _find_exported(place) if name not in files]
    write_folder(place, files, overwrite=overwrite)
    for name in left_over:
        (place / name).unlink()
    return place / "index.html"


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
        data={**_describe_page(page), "engine": None, "models": page.models},
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
    """Renders the page as files for a web server: their names, and what is in them; the page comes last.

    Addresses end in a digest of what is behind them, so that a browser may keep files and still notices new
    ones.
    """
    files = {
        "page.css": render_style().encode(),
        "page.js": join_modules(WEB / PAGE, "start.js").encode(),
        "engine.js": join_modules(WEB / ENGINE, "worker.js").encode(),
    }
    models = []
    for number, (bundle, described) in enumerate(zip(page.bundles, page.models, strict=True), 1):
        last = "" if number == 1 else f"-{number}"
        files[f"model{last}.json"] = dump_json(bundle.settings).encode()
        files[f"weights{last}.bin"] = bundle.weights
        addresses = {
            key: make_address(name, files[name])
            for key, name in (("settings", f"model{last}.json"), ("weights", f"weights{last}.bin"))
        }
        models.append({**described, **addresses})
    engine = make_address("engine.js", files["engine.js"])
    files["index.html"] = render_template(
        "page/page.html",
        title=page.title,
        policy=make_policy("self", "self", "connect-src 'self'; worker-src 'self'; "),
        data={**_describe_page(page), "engine": engine, "models": models},
        one_file=False,
        style_address=make_address("page.css", files["page.css"]),
        script_address=make_address("page.js", files["page.js"]),
    ).encode()
    return files


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


def _describe_page(page: Page) -> dict[str, Any]:
    return {"beam": page.beam, "max_beam": MAX_BEAM, "examples": page.examples}


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
