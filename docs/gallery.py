"""Draws the gallery: the bundled model's attention for a dozen sentences.

    python docs/gallery.py

writes gallery.md and the pictures it shows beside this file. The sentences were made up for it; the model has
not seen them.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import augenmerk
from augenmerk.analysis.patterns import PatternMatch, find_patterns
from augenmerk.data import SentencePair
from augenmerk.drawing import AttentionMap, draw_heat_map
from augenmerk.drawing.figures import LIGHT, save_figure

HERE = Path(__file__).parent
PICTURES = Path("figures") / "gallery"
PIXELS_PER_INCH = 72

BEGINNING = """# A dozen diagrams

Every translation comes with what the model looked at, and `augenmerk diagram "..."` draws it. Here are twelve
sentences that were made up for this page, translated by the bundled model, each with something to see. Rows
are the words produced, columns those of the German sentence; the stronger the colour, the more a word is
attended to. Below each is the verdict of the search for patterns (`augenmerk patterns`).

How often each pattern occurs in Multi30k's test split is in [results](results.md#what-does-attention-show);
`python docs/gallery.py` draws this page.
"""

SENTENCES: Mapping[str, Sequence[tuple[str, str, str]]] = {
    "From left to right": [
        (
            "dresses",
            "Drei Frauen in bunten Kleidern tanzen auf einer Bühne.",
            "Where both languages say it in the same order, attention is a diagonal.",
        ),
        (
            "ladder",
            "Ein Feuerwehrmann klettert eine Leiter hinauf.",
            "*hinauf* comes last, and only a seventh of the attention of *up* goes there: the encoder, which "
            "also reads backwards, may have told the words before it.",
        ),
    ],
    "The verb at the end": [
        (
            "hat",
            "Ein Mann, der einen roten Hut trägt, repariert ein altes Fahrrad.",
            "In a German relative clause the verb closes the clause. *wearing* gives it a fifth of its "
            "attention and looks at the comma and *der* for the rest, which the encoder may have told of it.",
        ),
        (
            "bench",
            "Ein Mann sitzt auf einer Bank, während sein Hund im Gras schläft.",
            "So it does in a clause with *während*. Here the attention jumps: *sleeps* looks at *schläft*, "
            "and the next word comes back.",
        ),
        (
            "fence",
            "Der Junge hat gerade einen Ball über den Zaun geworfen.",
            "The perfect tense puts a whole sentence between *hat* and *geworfen*.",
        ),
        (
            "carried",
            "Ein Mädchen im gelben Kleid wird von seinem Vater getragen.",
            "So does the passive. *seinem* became *his*, though she is a girl: *Mädchen* is a neuter word, "
            "and the model translates words.",
        ),
    ],
    "What stands first": [
        (
            "market",
            "Auf dem Markt kauft eine ältere Frau frisches Gemüse.",
            "German may begin with the place; English wants the subject. Two blocks change places.",
        ),
        ("sled", "Im Schnee zieht ein Hund einen Schlitten.", "Again, in fewer words."),
    ],
    "Verbs in two parts": [
        (
            "jacket",
            "Die Frau zieht sich eine warme Jacke an.",
            "*zieht ... an* is one verb. *putting* looks at its first part, *on* at its last.",
        ),
        (
            "granddaughter",
            "Ein alter Mann liest seiner Enkelin ein Buch vor.",
            "The two objects change places. *vor*, the other half of *liest*, is hardly looked at: *reads* "
            "does without it.",
        ),
    ],
    "Where it fails": [
        (
            "knife",
            "Der Koch schneidet mit einem großen Messer Zwiebeln.",
            "The onions are lost. Only the full stop looks at them, too late: nothing reminds the decoder "
            "of what it has not translated yet.",
        ),
        (
            "although",
            "Obwohl es regnet, spielen einige Männer auf dem Platz Fußball.",
            "Captions seldom say *obwohl*. The model looks at it twice, makes something up, and loses the "
            "rain.",
        ),
    ],
}


def find_matches() -> dict[str, PatternMatch]:
    """Translates the sentences and returns the pattern of each, by its name."""
    named = {name: sentence for group in SENTENCES.values() for name, sentence, _ in group}
    translations = augenmerk.load().translate(list(named.values()))
    pairs = [SentencePair(each.source, each.text) for each in translations]
    return dict(zip(named, find_patterns(pairs, translations, "de"), strict=True))


def render_page(matches: Mapping[str, PatternMatch], widths: Mapping[str, int]) -> str:
    """Renders the page as Markdown, with pictures of these widths."""
    parts = [BEGINNING]
    for heading, group in SENTENCES.items():
        parts.append(f"## {heading}\n")
        for name, sentence, remark in group:
            match, picture = matches[name], (PICTURES / name).as_posix()
            parts.append(
                f"**{sentence}** {match.translation.text}\n\n{remark}\n\n"
                f'<img src="{picture}.svg" width="{widths[name]}" alt="Attention: {sentence}">\n\n'
                f"> {match.pattern.verdict}\n"
            )
    return "\n".join(parts)


def main() -> None:
    matches = find_matches()
    (HERE / PICTURES).mkdir(parents=True, exist_ok=True)
    widths = {}
    for name, match in matches.items():
        figure = draw_heat_map([AttentionMap.from_translation(match.translation)], LIGHT)
        save_figure(figure, HERE / PICTURES / f"{name}.svg", outline=True)
        widths[name] = round(figure.get_figwidth() * PIXELS_PER_INCH)
    (HERE / "gallery.md").write_text(render_page(matches, widths), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
