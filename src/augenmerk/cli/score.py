"""`augenmerk score`: how likely a run finds given translations, word for word, and what it attends to."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from typer import Argument

from augenmerk.base.console import err, out
from augenmerk.base.errors import AugenmerkError
from augenmerk.cli import inputs, options
from augenmerk.cli.inputs import DataOptions
from augenmerk.cli.options import GROUP, Group, grouped
from augenmerk.cli.terminal import format_json
from augenmerk.text.words import check_sentences

if TYPE_CHECKING:
    from augenmerk.translation import Translation

app = typer.Typer()

Pair = tuple[str, str]


class ScoreOptions(Group):
    """What to score, with which run."""

    text: Annotated[list[str] | None, Argument(metavar="[RUN] SOURCE TARGET", show_default=False)] = None
    """Sentences and their translations, in turn, perhaps after a run directory. Default: the bundled model,
    and pairs on stdin: source, tab, target."""
    model: options.Models = None
    split: str | None = None
    """Split of --data. Default: validation; all pairs of a file."""
    skip_bad: bool = False
    """Leave out bad lines of --data or stdin (empty, not UTF-8, ...)."""
    show_attention: bool = False
    """Also draw the attention over words of each pair."""
    heads: bool = False
    """With --json or --show-attention: also the attention of each head."""
    attention: options.Mechanisms = None
    device: options.Device = "auto"
    json: bool = False
    """Print a line of JSON for each pair."""


@app.command(
    epilog="Examples:  augenmerk score 'Ein Hund schläft.' 'A dog is sleeping.'    "
    "augenmerk score 'Ein Hund schläft.' 'A dog is sleeping.' --show-attention    "
    "augenmerk score runs/mine --data pairs.tsv --json    "
    "augenmerk score runs/mine --data bilderbuch --split test    "
    "augenmerk score < pairs.tsv"
)
@grouped
def score(given: ScoreOptions = GROUP, data: DataOptions = GROUP) -> None:
    """Score given translations: log-probability, loss and perplexity, word for word, with attention."""
    from augenmerk.api.score import ScoreTotal, score_stream, show_words
    from augenmerk.evaluation.evaluator import compute_loss, describe_score
    from augenmerk.run.bundled import BUNDLED_MODEL

    options.load_mechanisms(given.attention)
    models, sentences = _split_arguments(given.text or [], given.model or [])
    if given.heads and not (given.json or given.show_attention):
        raise AugenmerkError("--heads adds to what --json or --show-attention print: add one of them.")
    pairs = list(zip(sentences[::2], sentences[1::2], strict=True)) if sentences else None
    found = score_stream(
        pairs,
        models or BUNDLED_MODEL,
        **vars(data),
        split=given.split,
        skip_bad=given.skip_bad,
        heads=given.heads,
        device=given.device,
    )
    total = ScoreTotal()
    for one in found:
        loss = compute_loss(one)
        total.add(loss, len(one.target_words))
        if given.json:
            typer.echo(format_json(describe_score(one)))
        elif pairs:
            for part in show_words(describe_score(one), first=total.pairs == 1):
                out().print(part)
        else:
            if total.pairs == 1:
                out().print(f"{'pair':>6} {'log p':>9} {'loss':>7} {'ppl':>10}  target")
            scores = f"{one.log_probability:>9.2f} {loss.mean:>7.3f} {loss.perplexity:>10.2f}"
            out().print(f"{total.pairs:>6} {scores}  {escape(one.text)}")
        if given.show_attention and not given.json:
            _print_attention(one)
    if total.pairs != 1 or not sentences:
        (err() if given.json else out()).print(str(total))


def _split_arguments(arguments: Sequence[str], models: Sequence[Path]) -> tuple[list[Path], list[str]]:
    """Returns the runs, and the sentences with their translations in turn."""
    sentences, runs = list(arguments), list(models)
    in_turn = "every sentence needs its translation: give source, target, source, target."
    if len(sentences) % 2:  # pairs are even, so the first of an odd number is a run
        first = sentences.pop(0)
        if not inputs.is_folder(first):
            raise AugenmerkError(f"'{first}' is not a run directory, and {in_turn}")
        runs.insert(0, Path(first))
    elif sentences and inputs.is_folder(sentences[0]) and Path(sentences[0], "config.toml").exists():
        raise AugenmerkError(f"After the run directory '{sentences[0]}', {in_turn}")
    check_sentences(sentences)
    return runs, sentences


def _print_attention(one: "Translation") -> None:
    """Draws the attention over words in the terminal, and that of each head if there is more than one."""
    from augenmerk.drawing import AttentionMap, explain_terminal_maps, render_terminal_maps

    groups = [[AttentionMap.from_translation(one)]]
    if len(one.heads) > 1:
        groups.append([AttentionMap.from_translation(one, head=head) for head in one.heads])
    for maps in groups:
        out().print()
        out().print(render_terminal_maps(maps, out().width))
    out().print(f"[dim]{explain_terminal_maps(groups, out().width)}[/]")
