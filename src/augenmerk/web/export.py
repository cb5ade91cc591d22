"""Writes pages: one HTML file that can be opened from a disk, or a folder for a web server.

A page shows a run, or two that are compared; the theory lab is a page without a model.
"""

import os
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.markup import escape

from augenmerk.base.console import show_status, warn
from augenmerk.base.errors import AugenmerkError
from augenmerk.base.files import atomic_write, is_stream, make_folder
from augenmerk.base.frames import Outcome, as_list, as_paths
from augenmerk.drawing.figures import DARK, LIGHT
from augenmerk.inference.model import build_inference_model
from augenmerk.run.bundled import BUNDLED_MODEL
from augenmerk.run.directory import RunDirectory
from augenmerk.text.words import check_sentences
from augenmerk.theory.exercises import EXERCISES, Wording
from augenmerk.theory.results import plane_values
from augenmerk.translation import Translator
from augenmerk.web import MAX_BEAM
from augenmerk.web.bundle import Bundle, check_browser, make_bundle
from augenmerk.web.examples import choose_examples, describe_layers, make_example
from augenmerk.web.joining import join_modules
from augenmerk.web.templates import (
    WEB,
    dump_json,
    hash_for_policy,
    make_address,
    make_policy,
    render_style,
    render_template,
)

MAX_RUNS = 2
MAX_EXAMPLES = 50
EIGHTH = {"light": "#8a7a00", "dark": "#f3f07a"}
"""The colour of an eighth key; pictures have seven."""
_THEORY = "theory/theory.html"
COPYING_SEED = 21
"""The keys of 1.1 are the first that `augenmerk theory 1.1 --seed 21` draws (docs/explanation/theory.md)."""


@dataclass(frozen=True)
class Page:
    """What an exported page consists of."""

    bundles: Sequence[Bundle]
    models: Sequence[Mapping[str, Any]]
    """What the page shows of each model before reading it."""
    beam: int
    examples: Sequence[Mapping[str, Any]]
    """Sentences with one stored translation by each model: `source` and `translations`."""
    note: str = ""
    """A sentence about what differs between the page and the runs."""


def export(
    out: str | Path,
    runs: Any = (),
    *,
    beam: int | None = None,
    examples: str | Sequence[str] = (),
    theory: bool = False,
    overwrite: bool = False,
) -> Outcome:
    """Writes a run, or two to compare, as a page that translates and shows attention without a server.

    `runs` are runs or their paths; by default the bundled model. A name that does not end in .html names a
    folder, which is for a web server. `theory=True` writes the theory lab instead.
    """
    place, paths, sentences = Path(out), as_paths(runs), as_list(examples, str)
    if theory:
        if paths or beam is not None or sentences:
            raise AugenmerkError(
                "--theory writes a page without a model: leave out runs, --beam and --example."
            )
        written, about = export_theory(place, overwrite=overwrite), {}
    else:
        check_sentences(sentences)
        check_path(place, overwrite=overwrite)
        with show_status("exporting"):
            page = make_page(paths, beam=beam, examples=sentences)
            written = export_page(page, place, overwrite=overwrite)
        if page.note:
            warn(page.note)
        about = {
            "runs": [model["name"] for model in page.models],
            "beam": page.beam,
            "examples": [each["source"] for each in page.examples],
        }
    return Outcome({"file": str(written), **about}, f"[dim]Written:[/] {escape(str(written))}")


def make_page(paths: Sequence[Path], *, beam: int | None = None, examples: Sequence[str] = ()) -> Page:
    """Makes a page of one run, or of two that are compared; by default of the bundled model.

    Without examples, `choose_examples` chooses some. Raises AugenmerkError if a run cannot be
    exported, or if two do not translate between the same languages.
    """
    if len(paths) > MAX_RUNS:
        raise AugenmerkError(
            f"A page shows one run, or two side by side, not {len(paths)}; an ensemble cannot be exported."
        )
    if beam is not None and not 1 <= beam <= MAX_BEAM:
        raise AugenmerkError(f"The beam of a page is from 1 to {MAX_BEAM}, not {beam}.")
    if len(examples) > MAX_EXAMPLES:
        raise AugenmerkError(f"A page has room for {MAX_EXAMPLES} examples, not for {len(examples)}.")
    runs = [RunDirectory.open(path) for path in paths or [BUNDLED_MODEL]]
    _check_runs(runs)
    exported = [_export_run(run, name) for run, name in zip(runs, _name(runs), strict=True)]
    asked = beam or runs[0].config.search.beam
    width = min(asked, MAX_BEAM)
    note = f"The run has a beam of {asked}; a page has at most {width}, and begins with it."
    return Page(
        bundles=[bundle for bundle, _, _ in exported],
        models=[described for _, described, _ in exported],
        beam=width,
        examples=[
            {"source": text, "translations": [make_example(each, text, width) for _, _, each in exported]}
            for text in dict.fromkeys(examples or choose_examples([each for _, _, each in exported]))
        ],
        note=note if asked > width else "",
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
        **run.config.describe(),
        **describe_layers(run.config.model),
        "unit": bundle.settings["tokenizers"]["source"]["unit"],
        "licence": bundle.settings["licence"],
        "rounded": any(array.dtype != np.float16 for array in arrays.values()),
    }
    return bundle, described, translator


def check_path(path: Path, *, overwrite: bool) -> bool:
    """Returns whether a page is one file, and not a folder; raises AugenmerkError if it cannot be written.

    That is decided as far as can be known beforehand.
    """
    if str(path) == "-":
        raise AugenmerkError("A page is written to a file or a folder, e.g. page.html, not to stdout (-).")
    if is_stream(path):
        return True
    one_file = path.suffix.lower() in (".html", ".htm")
    if one_file and path.is_dir():
        raise AugenmerkError(f"{path} is a folder; give the page another name.")
    if path.suffix and not one_file and not path.is_dir():
        raise AugenmerkError(
            f"{path}: the name of a page ends in .html; for a folder, give a name without an ending."
        )
    if one_file and not path.parent.is_dir():
        raise AugenmerkError(f"{path}: cannot be written: there is no folder {path.parent}.")
    _check_absent(path if one_file else path / "index.html", overwrite=overwrite)
    return one_file


def _check_absent(path: Path, *, overwrite: bool) -> None:
    if path.exists() and not overwrite:
        raise AugenmerkError(f"{path} is already there; pass --overwrite, or choose another name.")


def export_page(page: Page, path: Path, *, overwrite: bool = False) -> Path:
    """Writes the page of runs as one file or as a folder, and returns the file to open.

    Raises AugenmerkError if that would replace something and `overwrite` is false.
    """
    return _write(path, lambda: render_file(page), lambda: render_folder(page), overwrite=overwrite)


def export_theory(path: Path, *, overwrite: bool = False) -> Path:
    """Writes the theory lab as one file or as a folder, as `export_page` does."""
    return _write(
        path,
        render_theory,
        lambda: _render_folder(_THEORY, "theory", *_theory_parts(), {}, data=describe_theory()),
        overwrite=overwrite,
    )


def render_theory() -> str:
    """Renders the theory lab as one file that needs nothing else."""
    return _render_file(_THEORY, *_theory_parts(), data=describe_theory())


def _theory_parts() -> tuple[str, str]:
    """Returns the style and the script of the theory lab."""
    style = render_style() + (WEB / "theory" / "theory.css").read_text(encoding="utf-8")
    return style, join_modules(WEB / "theory" / "main.js")


def _write(
    path: Path, make_file: Callable[[], str], make_files: Callable[[], dict[str, bytes]], *, overwrite: bool
) -> Path:
    """Writes a page as one file or as a folder, and returns the file to open."""
    if check_path(path, overwrite=overwrite):
        atomic_write(path, [make_file().encode()])
        return path
    files = make_files()
    for name in files:
        _check_absent(path / name, overwrite=overwrite)
    make_folder(path)
    for name, content in files.items():
        atomic_write(path / name, [content])
    return path / "index.html"


def render_file(page: Page) -> str:
    """Renders the page of runs as one file that needs nothing else."""
    script = join_modules(WEB / "page" / "start.js")
    return _render_file(
        *("page/page.html", render_style(), script, "worker-src blob: data:; "),
        **_describe_page(page, None, page.models),
        engine=join_modules(WEB / "engine" / "worker.js"),
        models=[
            {"settings": bundle.settings, "weights": b64encode(bundle.weights).decode()}
            for bundle in page.bundles
        ],
    )


def render_folder(page: Page) -> dict[str, bytes]:
    """Renders the page of runs as files for a web server: their names and contents; the page comes last."""
    files = {"engine.js": join_modules(WEB / "engine" / "worker.js").encode()}
    models = []
    for number, (bundle, described) in enumerate(zip(page.bundles, page.models, strict=True), 1):
        last = "" if number == 1 else f"-{number}"
        settings, weights = f"model{last}.json", f"weights{last}.bin"
        files |= {settings: dump_json(bundle.settings).encode(), weights: bundle.weights}
        addresses = {"settings": settings, "weights": weights}
        models.append(
            {**described, **{key: make_address(name, files[name]) for key, name in addresses.items()}}
        )
    return _render_folder(
        *("page/page.html", "page", render_style(), join_modules(WEB / "page" / "start.js"), files),
        policy="connect-src 'self'; worker-src 'self'; ",
        **_describe_page(page, make_address("engine.js", files["engine.js"]), models),
    )


def _describe_page(page: Page, engine: str | None, models: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Returns what the template of a page needs."""
    data = {"beam": page.beam, "max_beam": MAX_BEAM, "examples": page.examples, "engine": engine}
    title = f"Augenmerk: {', '.join(model['name'] for model in models)}"
    return {"title": title, "data": {**data, "models": models}}


def _render_file(template: str, style: str, script: str, policy: str = "", **context: Any) -> str:
    policy = make_policy(hash_for_policy(script), hash_for_policy(style), policy)
    return render_template(template, policy=policy, one_file=True, style=style, script=script, **context)


def _render_folder(
    template: str,
    name: str,
    style: str,
    script: str,
    files: Mapping[str, bytes],
    policy: str = "",
    **context: Any,
) -> dict[str, bytes]:
    """Adds the style, the script and at last the page to the files of a folder.

    Addresses end in a digest of the file, so that a browser may keep files and still notices new ones.
    """
    own = {f"{name}.css": style.encode(), f"{name}.js": script.encode()}
    page = render_template(
        template,
        policy=make_policy("self", "self", policy),
        one_file=False,
        style_address=make_address(f"{name}.css", own[f"{name}.css"]),
        script_address=make_address(f"{name}.js", own[f"{name}.js"]),
        **context,
    )
    return {**own, **files, "index.html": page.encode()}


def describe_theory() -> dict[str, Any]:
    """Returns what the theory lab gets from Python: all questions with hints, colours, and the keys of 1.1.

    Under `de` a question has what is different in German.
    """
    keys = np.random.default_rng(COPYING_SEED).standard_normal((8, 2))
    return {
        "questions": [
            {**exercise.to_dict(len(exercise.hints)), "de": _describe_wording(exercise.german)}
            for exercise in EXERCISES.values()
            if exercise.german
        ],
        "colours": {theme.name: [*theme.series, EIGHTH[theme.name]] for theme in (LIGHT, DARK)},
        "copying": {"keys": keys.round(3).tolist(), "values": plane_values(8).round(3).tolist()},
    }


def _describe_wording(wording: Wording) -> dict[str, Any]:
    return {
        **{"title": wording.title, "question": wording.text},
        **{"names": dict(wording.names), "hints": list(wording.hints)},
        "statements": list(wording.statements),
    }
