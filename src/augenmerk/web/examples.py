"""Stored translations, so that an exported page shows something before its model has been read.

They have the shape in which `engine/translator.js` returns translations: see `make_example`. Only the tree
of the beam is stored in columns, from which `page/stored.js` makes it again: it would be large otherwise.
"""

from collections.abc import Sequence
from typing import Any, get_args

from augenmerk.analysis.patterns import count_heads
from augenmerk.base.config import ModelConfig
from augenmerk.run.bundled import BUNDLED_MODEL
from augenmerk.translation import HeadAttention, Part, Translation, Translator
from augenmerk.translation.translator import Text

CAPTIONS = {
    "Ein Mann fährt mit dem Fahrrad durch den Park.": "A man is riding a bicycle through the park.",
    "Auf dem Markt kauft eine ältere Frau frisches Gemüse.": (
        "An older woman is buying fresh vegetables in the market."
    ),
    "Ein Mann sitzt auf einer Bank, während sein Hund im Gras schläft.": (
        "A man sits on a bench while his dog sleeps in the grass."
    ),
    "Die Frau zieht sich eine warme Jacke an.": "The woman is putting on a warm jacket.",
    "Der Junge hat gerade einen Ball über den Zaun geworfen.": (
        "The boy has just thrown a ball over the fence."
    ),
    "Der Koch schneidet mit einem großen Messer Zwiebeln.": "The cook is cutting onions with a large knife.",
    "Der Bauer, der einen grünen Hut trägt, kauft ein Pferd.": (
        "The farmer wearing a green hat is buying a horse."
    ),
}
"""Sentences for the bundled model with their translations, each with something to see."""

PICTURE_BOOK = {
    "Das Mädchen lacht, weil der Hund den roten Ball gefangen hat.": (
        "The girl is laughing because the dog has caught the red ball."
    ),
    "Den roten Ball wirft der Junge.": "The boy is throwing the red ball.",
    "Die alte Frau macht das Fenster auf.": "The old woman is opening the window.",
    "Im Garten schläft eine kleine Katze.": "A little cat is sleeping in the garden.",
    "Der Bauer, der einen grünen Hut trägt, kauft ein Pferd.": (
        "The farmer who is wearing a green hat is buying a horse."
    ),
    "Die Kinder haben den Kuchen gegessen.": "The children have eaten the cake.",
    "Der kleine Hund schläft unter dem Tisch.": "The little dog is sleeping under the table.",
    "Heute hat die Oma einen Kuchen gebacken.": "The grandma baked a cake today.",
    "Das Kind sagt, dass der Clown lustig ist.": "The child says that the clown is funny.",
    "Den Turm baut der Ritter am Strand.": "The knight is building the tower on the beach.",
    "Die müde Köchin wäscht die Tasse ab.": "The tired cook is washing the cup.",
    "Der Junge hat den Apfel nicht gegessen.": "The boy has not eaten the apple.",
}
"""Sentences for other models that read German, with the translations of bilderbuch, which has such words."""

SHOWN_EXAMPLES = 6
MIN_RIGHT = 3
"""If a model translates fewer examples well, others are shown as well."""
NEXT_WORDS = 5
DIGITS = 5
"""Digits of numbers: more cannot be seen, and would make the page larger."""


def choose_examples(translators: Sequence[Translator]) -> list[str]:
    """Returns examples for one model or for several that are compared, if they read German.

    They are sentences that all of the models translate like their references; others if these are too few.
    """
    runs = [run for translator in translators for run in translator.runs]
    if runs[0].config.data.languages[0] != "de":
        return []
    has_bundled = any(run.path.resolve() == BUNDLED_MODEL.resolve() for run in runs)
    examples = CAPTIONS if has_bundled else PICTURE_BOOK
    found = [[each.text.lower() for each in one.translate(list(examples))] for one in translators]
    wanted = dict(zip(examples, zip(*found, strict=True), strict=True))
    right = [source for source, texts in wanted.items() if {*texts} == {examples[source].lower()}]
    others = [source for source in examples if source not in right] if len(right) < MIN_RIGHT else []
    return [*right, *others][:SHOWN_EXAMPLES]


def make_example(
    translator: Translator,
    text: str,
    beam: int,
    *,
    sentence: int = 0,
    prefix: Sequence[int] = (),
    tree: bool = True,
    heads: Part | None = None,
    translation: Translation | None = None,
) -> dict[str, Any]:
    """Translates a text and returns all that a page shows of one of its sentences, which is counted from 0.

    It has the keys of `Translation.to_dict(subwords=True)`. Each target token (the end included) also has its
    log-probability (`token_log_probabilities`) and the likeliest tokens at its position (`next`), with the
    tokens' `ids` and the words they belong to (`source_word_of`, `target_word_of`; null for the end), and
    with the beam search as a `tree` (`Translator.trace`, in columns: see `store_tree`). The translation
    begins with the ids of `prefix`. `heads` asks for the attention of all heads of a part (see
    `describe_heads`). Of a text with several sentences, it also has the number of this one (`sentence`),
    and the source, translation and faults of each of the `sentences`; of a text that is more than a sentence,
    the `whole` translation. Nothing is searched for if the `translation` of the text is given.
    """
    split = Text.of(text, translator.language)
    if translation is None:
        translation = translator.translate(text, beam=beam, n_best=1)
    parts = list(translation.sentences or (translation,))
    index = min(sentence, len(parts) - 1)
    if prefix:
        parts[index] = translator.complete(parts[index].source, prefix, beam=beam, n_best=1)
    shown = parts[index]
    found = _describe_sentence(translator, shown)
    if tree:
        traced = None
        if found["ids"]:
            traced = translator.trace(shown.source, prefix=prefix, beam=beam, n_best=beam)
        found["tree"] = traced and store_tree(traced)
    if heads is not None and found["ids"]:
        found["heads"] = describe_heads(translator.add_heads([shown])[0], heads)
    if len(parts) > 1:
        keys = ("source", "translation", "unfamiliar", "uncovered")
        described = [one.to_dict(attention=False) for one in parts]
        found["sentence"] = index
        found["sentences"] = [{key: one[key] for key in keys} for one in described]
    if split.spans:
        found["whole"] = split.join(parts).text
    rounded: dict[str, Any] = _round(found)
    return rounded


def _describe_sentence(translator: Translator, translation: Translation) -> dict[str, Any]:
    hypothesis = translation.hypothesis
    source, target = translator.tokenizers.source, translator.tokenizers.target
    ids = [] if hypothesis is None else list(hypothesis.ids)
    word_of = source.encode(translation.source).word_of[: translator.max_source_length]
    end = [None] if hypothesis is not None and hypothesis.finished else []
    return {
        **translation.to_dict(subwords=True),
        "ids": ids,
        "token_log_probabilities": [] if hypothesis is None else list(hypothesis.token_log_probabilities),
        "source_word_of": [*word_of, None],
        "target_word_of": [*target.words_of_ids(ids)[1], *end],
        "next": [
            [{"id": i, "text": target.token(i), "probability": probability} for i, probability in best]
            for best in translator.next_tokens(translation, NEXT_WORDS)
        ],
        "alternatives": [],
    }


def describe_layers(model: ModelConfig) -> dict[str, Any]:
    """Returns the number of layers of attention, and that of heads in each part of a model that has some."""
    counted = {part: count_heads(model, part) for part in get_args(Part)}
    return {
        "layers": counted["cross"][0],
        "heads": {part: heads for part, (_, heads) in counted.items() if heads},
    }


def describe_heads(translation: Translation, part: Part) -> dict[str, Any]:
    """Returns the attention of all heads of a part, over `words` and over `subwords`: [layer][head] maps."""
    layers: dict[int | None, list[HeadAttention]] = {}
    for one in translation.select_heads(part):
        layers.setdefault(one.layer, []).append(one)
    return {
        "part": part,
        "words": [[one.attention.tolist() for one in layer] for layer in layers.values()],
        "subwords": [[one.subword_attention.tolist() for one in layer] for layer in layers.values()],
    }


def store_tree(tree: dict[str, Any]) -> dict[str, Any]:
    """Returns the tree of a beam search with a list for each field of its nodes that cannot be computed.

    `texts` has the text of each token, and `statuses` the first letter of each node's status.
    """
    nodes = tree["nodes"]
    return {
        **{key: value for key, value in tree.items() if key not in ("source", "nodes")},
        "parents": [node["parent"] for node in nodes],
        "tokens": [node["token"] for node in nodes],
        "log_probabilities": [node["log_probability"] for node in nodes],
        "statuses": "".join(node["status"][0] for node in nodes),
        "texts": {node["token"]: node["text"] for node in nodes},
    }


def _round(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, DIGITS)
    if isinstance(value, dict):
        return {key: _round(each) for key, each in value.items()}
    return [_round(each) for each in value] if isinstance(value, list) else value
