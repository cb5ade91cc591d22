"""`augenmerk demo`: what is here, on embedded data."""

from itertools import islice

from augenmerk.bitext import open_bitext
from augenmerk.cli.drawing import draw_links
from augenmerk.cli.terminal import err, out, print_json
from augenmerk.config import TextConfig
from augenmerk.text import Codec


def run(json: bool) -> None:
    """Writes a picture book, shows three pairs of it, and splits one into the subwords a model would see."""
    bitext = open_bitext("bilderbuch")
    err().print("[dim]Writing a picture book of 20,000 sentence pairs and learning subwords from it ...[/]")
    codec = Codec.train(bitext["train"], TextConfig(vocabulary_size=2000))
    shown = list(islice(bitext["test"], 3))
    pieces = [[codec.source.token(i) for i in codec.source.encode(pair.source).ids] for pair in shown]
    if json:
        print_json(
            [
                {"source": pair.source, "target": pair.target, "subwords": subwords}
                for pair, subwords in zip(shown, pieces, strict=True)
            ]
        )
        return
    for pair, subwords in zip(shown, pieces, strict=True):
        out().print(f"\n[bold]{pair.source}[/]\n{pair.target}\n")
        out().print(draw_links(pair, out().width), soft_wrap=True)
        out().print(f"\n[dim]as subwords:[/] {' '.join(subwords)}", markup=True)
    out().print("\nNext: [bold]augenmerk data show bilderbuch --tag passive[/], [bold]augenmerk data list[/]")
