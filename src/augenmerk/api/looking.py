"""What a run looks at, and whether that matters: `augenmerk patterns` and `faithfulness` in functions."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import RenderableType
from rich.markup import escape

from augenmerk.analysis import pages, wording
from augenmerk.analysis import patterns as kinds
from augenmerk.analysis.reading import TranslatedSplit, translate_split
from augenmerk.analysis.wanted import WantedPosition, find_wanted
from augenmerk.base.console import Shown, make_table, show_status
from augenmerk.base.errors import AugenmerkError
from augenmerk.base.files import make_folder
from augenmerk.base.frames import as_list
from augenmerk.drawing.figures import make_style
from augenmerk.run.bundled import BUNDLED_MODEL
from augenmerk.run.directory import RunDirectory

if TYPE_CHECKING:
    from augenmerk.analysis.faithfulness import Faithfulness
    from augenmerk.translation import Translation

HEAD_MEASURES = {name: pages.MEASURES[name] for name in kinds.COMPARED} | {"alignment_error": "AER"}
"""The measures by which heads are compared, with their headings."""


@dataclass(frozen=True, repr=False)
class Patterns(Shown):
    """How many sentences of a split are of each kind, and the clearest of them."""

    summary: Mapping[str, Any]
    chosen: Sequence[kinds.PatternMatch]

    def to_dict(self) -> Any:
        """Returns the chosen sentences; with the heads, also the summary."""
        described = [match.to_dict() for match in self.chosen]
        return {**self.summary, "chosen": described} if "heads" in self.summary else described

    def show(self) -> Iterator[RenderableType]:
        summary = self.summary
        counts, agreement = summary["kinds"], summary.get("agreement")
        split, of = f"[bold]{escape(summary['split'])}[/]", summary["of"]
        yield f"{split}: {pages.count_sentences(summary)}, by the attention over {of}"
        yield make_table(counts, [[f"{count:,}" for count in counts.values()]], left=0)
        if summary["without_words"]:
            yield f"{summary['without_words']:,} without words on both sides are of no kind."
        if agreement:
            shown = {name: "-" if value is None else f"{value:.3f}" for name, value in agreement.items()}
            scores = ", ".join(f"{name} {shown[name]}" for name in ("precision", "recall", "accuracy"))
            yield (
                f"Compared with gold links: {agreement['gold_inversions']:,} true inversions; {scores}; "
                f"{shown['moved_links_in_gold']} of the links of moved words are gold."
            )
        if heads := summary.get("heads"):
            columns = ["layer", "head"] if heads[0]["layer"] is not None else ["head"]
            forms = {**dict.fromkeys(columns, "{}"), **dict.fromkeys(HEAD_MEASURES, "{:.3f}")}
            rows = [["-" if one[k] is None else f.format(one[k]) for k, f in forms.items()] for one in heads]
            yield ""
            yield make_table((*columns, *HEAD_MEASURES.values()), rows, left=len(columns))
            yield escape(summary["heads_in_words"])
        for match in self.chosen:
            yield (
                f"\n[dim]{match.index}[/]  [bold]{match.pattern.kind}[/]  {escape(match.pattern.verdict)}\n"
                f"   {escape(match.translation.source)}\n   {escape(match.translation.text)}"
            )


def patterns(
    text: str | Sequence[str] | None = None,
    run: str | PathLike[str] = BUNDLED_MODEL,
    *,
    split: str | None = None,
    beam: int | None = None,
    reference: bool = False,
    kind: kinds.Kind | None = None,
    top: int = 12,
    layer: int | None = None,
    head: int | None = None,
    heads: bool = False,
    out: str | Path | None = None,
    device: str = "auto",
    **style: Any,
) -> Patterns:
    """Searches sentences, or a split of a run's data, for patterns of attention.

    Takes what `augenmerk patterns` takes; `style` has keywords of pictures, such as title.
    """
    path = Path(run)
    _check_top(top)
    if kind is not None and kind not in kinds.KINDS:
        raise AugenmerkError(f"There is no kind '{kind}'; the kinds are {', '.join(kinds.KINDS)}.")
    chosen_style = make_style(**{"title": f"Patterns in the attention of {path.resolve().name}", **style})
    if out is not None:
        make_folder(Path(out))
    if one_head := layer is not None or head is not None:
        kinds.check_head(RunDirectory.open(path).config.model, layer, head)
    read = translate_split(text, path, split, beam, device, reference=reference, heads=heads or one_head)
    matches = kinds.find_patterns(read.pairs, read.translations, read.source_language, layer, head)
    summary = {**read.described, **kinds.summarise_patterns(read.pairs, matches, of_references=reference)}
    if heads:
        compared = kinds.summarise_heads(read.pairs, read.translations, of_references=reference)
        summary["heads"] = [asdict(one) for one in compared]
        summary["heads_in_words"] = wording.describe_heads(compared)
    chosen = kinds.select_strongest(matches, kind, top)
    if out is not None:
        with show_status("drawing"):
            pages.write_patterns_page(Path(out), chosen_style, matches, chosen, summary, kind)
    return Patterns(summary, chosen)


def faithfulness(
    text: str | Sequence[str] | None = None,
    run: str | PathLike[str] = BUNDLED_MODEL,
    *,
    split: str | None = None,
    beam: int | None = None,
    reference: bool = False,
    index: int | Sequence[int] | None = None,
    top: int | None = None,
    out: str | Path | None = None,
    wanted: str | None = None,
    at: int | None = None,
    device: str = "auto",
    **style: Any,
) -> "WordDrops | HeadDrops | WantedWord":
    """Replaces the attention at each word, or of each head of a Transformer, and measures what is lost.

    With `wanted`, finds the attention that makes this word likeliest. Takes what `augenmerk faithfulness`
    takes; `style` has keywords of pictures, such as title.
    """
    path, indices = Path(run), as_list(index, int)
    _check_top(top)
    single: dict[str, object] = {"--index": index, "--top": top, "--out": out}
    single |= {f"--{name.replace('_', '-')}": value for name, value in style.items() if name != "theme"}
    if wanted is not None:
        unused = {"--split": split, "--reference": reference, **single}
        _check_unused(unused, "--wanted is about a word in the translation of your sentence")
        if not text:
            why = "--wanted needs a sentence in whose translation the word is wanted"
            raise AugenmerkError(f"{why}: give one, in quotation marks.")
        read = translate_split(text, path, None, beam, "cpu" if device == "auto" else device)
        with show_status("searching"):
            places = [find_wanted(read.translator, one, wanted, at) for one in read.translations]
        return WantedWord(read, wanted, places)
    if at is not None:
        raise AugenmerkError("--at is the word of a translation that --wanted would replace: add --wanted.")
    chosen_style = make_style(**{"title": f"Does {path.resolve().name} use what it shows?", **style})
    has_layers = RunDirectory.open(path).config.model.entry.self_attention
    from augenmerk.analysis.faithfulness import measure_faithfulness, measure_heads, summarise

    if has_layers:
        _check_unused(single, "This run is a Transformer, whose heads are compared over all sentences")
        read = translate_split(text, path, split, beam, device, reference=reference)
        with show_status("measuring"):
            found = measure_heads(read.translator, read.translations)
        return HeadDrops({**read.described, **found, "in_words": wording.describe_idle_heads(found)})
    if out is not None:
        make_folder(Path(out))
    read = translate_split(text, path, split, beam, device, indices, reference=reference)
    with show_status("measuring"):
        measured = measure_faithfulness(read.translator, read.translations)
    found = summarise(measured)
    by_drop = sorted(range(len(measured)), key=lambda i: -measured[i].mean_drop)
    shown = indices or (range(len(measured)) if text else by_drop[: 3 if top is None else top])
    summary = {**read.described, **found, "in_words": wording.describe_findings(found)}
    drops = WordDrops(summary, {i: measured[i] for i in shown})
    if out is not None:
        pages.write_faithfulness_page(Path(out), drops.chosen, drops.summary, chosen_style)
    return drops


def _check_top(top: int | None) -> None:
    if top is not None and top < 0:
        raise AugenmerkError(f"top is how many sentences to show: {top} is below 0.")


def _check_unused(options: Mapping[str, object], why: str) -> None:
    """Raises AugenmerkError if one of these options was given."""
    for option, value in options.items():
        if value is not None and value is not False:
            raise AugenmerkError(f"{why}: leave out {option}.")


def _show_split(summary: Mapping[str, Any]) -> str:
    words = f"{summary['words']:,} words of {summary['of']}, ends of sentences included"
    return f"[bold]{escape(summary['split'])}[/]: {words}"


@dataclass(frozen=True, repr=False)
class WordDrops(Shown):
    """How much the log-probability of each word drops if the attention at it is replaced."""

    summary: Mapping[str, Any]
    chosen: "Mapping[int, Faithfulness]"
    """The sentences to show, by their index."""

    def to_dict(self) -> dict[str, Any]:
        described = [
            {"index": i, **one.translation.to_dict(), "word_log_probabilities": one.word_log_probabilities}
            | {"drops": one.drops, "in_words": wording.describe_dependence(one)}
            for i, one in self.chosen.items()
        ]
        return {**self.summary, "chosen": described}

    def show(self) -> Iterator[RenderableType]:
        from augenmerk.analysis.faithfulness import REPLACEMENTS

        summary = self.summary
        yield _show_split(summary)
        rows = [["unchanged", f"{summary['loss']:.3f}", f"{summary['perplexity']:.2f}"]]
        for name in REPLACEMENTS:
            replaced = summary[name]
            drops = [f"{replaced['mean_drop']:.3f}", f"{replaced['share_that_falls']:.0%}"]
            rows.append([name, f"{replaced['loss']:.3f}", f"{replaced['perplexity']:.2f}", *drops])
        yield make_table(("attention", "loss", "perplexity", "mean drop of a word", "words that drop"), rows)
        yield escape(summary["in_words"])
        for index, one in self.chosen.items():
            yield f"\n[dim]{index}[/]  [bold]{escape(one.translation.source)}[/]"
            looks, words = one.translation.attention, one.translation.source_words
            numbers = zip(one.word_log_probabilities, *one.drops.values(), strict=True)
            rows = []
            for word, weights, line in zip(one.translation.target_words, looks, numbers, strict=True):
                values = (f"{pages.round_drop(each):.2f}" for each in (float(weights.max()), *line))
                rows.append([escape(word), escape(words[int(weights.argmax())]), *values])
            names = ("word", "looks at", "weight", "log p", *(f"drop, {name}" for name in one.drops))
            yield make_table(names, rows, left=2)
            if described := wording.describe_dependence(one):
                yield escape(described)


@dataclass(frozen=True, repr=False)
class HeadDrops(Shown):
    """How much words lose if one head of a Transformer looks at all source words alike."""

    summary: Mapping[str, Any]

    def to_dict(self) -> dict[str, Any]:
        return {**self.summary, "heads": [asdict(one) for one in self.summary["heads"]]}

    def show(self) -> Iterator[RenderableType]:
        summary = self.summary
        rows = [
            [str(layer), *(f"{round(one.mean_drop, 3) + 0.0:.3f}" for one in heads)]
            for layer, heads in groupby(summary["heads"], key=lambda one: one.layer)
        ]
        yield _show_split(summary)
        yield (
            f"By how much the log-probability of a word falls on average if one head, at all target words,\n"
            f"looks at all source words alike; the perplexity is {summary['perplexity']:.2f} without that."
        )
        yield make_table(("layer", *(f"head {number}" for number in range(1, len(rows[0])))), rows)
        yield escape(summary["in_words"])


@dataclass(frozen=True, repr=False)
class WantedWord(Shown):
    """What would make the model produce a word, at each word of each translation."""

    read: TranslatedSplit
    wanted: str
    found: Sequence[list[WantedPosition]]
    """For each translation, its words with what would replace them."""

    def to_dict(self) -> dict[str, Any]:
        described = [
            {"source": one.source, "translation": one.text}
            | {"source_words": list(one.source_words), "target_words": list(one.target_words)}
            | {"places": [each.to_dict() for each in positions]}
            | {"in_words": wording.describe_wanted(self.wanted, one, positions)}
            for one, positions in zip(self.read.translations, self.found, strict=True)
        ]
        return {"run": self.read.described["run"], "wanted": self.wanted, "sentences": described}

    def show(self) -> Iterator[RenderableType]:
        for number, (one, positions) in enumerate(zip(self.read.translations, self.found, strict=True)):
            yield from [""] if number else []
            yield from _show_positions(self.wanted, one, positions)
        if self.read.translator.config.model.attention_heads > 1:
            yield "\nAll heads get the same attention here; the model's own differs from head to head."


def _show_positions(
    wanted: str, translation: "Translation", positions: Sequence[WantedPosition]
) -> Iterator[RenderableType]:
    """Yields a line for each word that the wanted one could replace."""
    rows = []
    for one in positions:
        wins = {None: "undecided", True: "yes", False: "no"}[one.wins]
        looks_at = wording.describe_attention(translation.source_words, one.attention)
        row = [str(one.position), one.word, looks_at, "yes, elsewhere" if one.wins_elsewhere else wins]
        row += [_format(one.greatest_probability), _format(one.own_probability)]
        rows.append(map(escape, [*row, f"{one.best_other} {_format(one.best_other_probability)}"]))
    headings = ("at", "instead of", "looking at", "wins", "greatest p", "own p", "best other")
    yield f"[bold]{escape(translation.source)}[/]\n{escape(translation.text)}"
    yield make_table(headings, rows, left=3)
    for one in positions:
        if one.wins_elsewhere and one.winning_attention is not None:
            looks_at = wording.describe_attention(translation.source_words, one.winning_attention)
            yield f"At {one.position} it wins elsewhere: looking at {escape(looks_at)}."
    longest = max((one.subwords for one in positions), key=len, default=())
    if len(longest) > 1:
        yield (
            f"'{escape(wanted)}' is several subwords, {escape(' '.join(longest))}: all numbers are those "
            f"of the first one, which may also begin other words."
        )
    yield escape(wording.describe_wanted(wanted, translation, positions))


def _format(probability: float) -> str:
    return f"{probability:.4f}" if probability >= 0.00005 else "<0.0001"
