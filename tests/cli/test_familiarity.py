"""Text that a model did not learn from is told from text that it did, and the user is warned once."""

import json
import math
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from augenmerk.base.config import TextConfig
from augenmerk.data import SentencePair, open_bitext
from augenmerk.data import multi30k as multi30k_module
from augenmerk.run.bundled import BUNDLED_MODEL
from augenmerk.run.directory import RunDirectory
from augenmerk.text.batching import RARE, SMOOTHING, Familiarity, learn_familiarity
from augenmerk.text.tokenizer import UNK, Tokenizer, TokenizerPair
from augenmerk.translation import load
from tests.support.command import fails_with_a_sentence, run_command
from tests.support.runs import SharedRuns, tiny

RUSSIAN = ["Мужчина едет на велосипеде по парку.", "Где находится вокзал?"]
KNOWN = [
    "Ein Mann fährt mit dem Fahrrad durch den Park.",
    "ein mann fährt mit dem fahrrad durch den park.",
    "Eine alte Frau sitzt mit ihrer Katze auf der Bank.",
    "Hund",
]


def pairs_of(split: str, count: int) -> list[SentencePair]:
    return list(open_bitext("bilderbuch", pairs=6000)[split])[:count]


@pytest.fixture(scope="module")
def joint() -> Tokenizer:
    """Subwords of both languages, so that nothing but counts tells English from German."""
    return TokenizerPair.train(pairs_of("train", 6000), TextConfig(vocabulary_size=2000)).source


@pytest.fixture(scope="module")
def familiarity(joint: Tokenizer) -> Familiarity:
    return Familiarity(joint, learn(joint, (pair.source for pair in pairs_of("train", 6000))))


def learn(tokenizer: Tokenizer, texts: Iterable[str]) -> dict[str, Any] | None:
    return learn_familiarity(tokenizer, tokenizer.encode_ids(list(texts)))


def share(familiarity: Familiarity, tokenizer: Tokenizer, texts: list[str]) -> float:
    reasons = familiarity.judge(tokenizer.encode_ids(texts))
    return sum(reason is not None for reason in reasons) / len(texts)


def test_the_other_language_is_told_from_new_sentences(familiarity: Familiarity, joint: Tokenizer) -> None:
    new = pairs_of("val", 1000)
    assert share(familiarity, joint, [pair.source for pair in new]) < 0.01
    assert share(familiarity, joint, [pair.target for pair in new]) > 0.99


def test_the_rule_is_the_one_that_is_written_down(joint: Tokenizer) -> None:
    """Computed here sentence by sentence, without arrays."""
    sentences = [ids for ids in joint.encode_ids([pair.source for pair in pairs_of("train", 900)]) if ids]
    learnt = learn(joint, [pair.source for pair in pairs_of("train", 900)])
    assert learnt is not None

    def measures(ids: list[int], counts: Counter[int]) -> tuple[float, float]:
        total = sum(counts[i] for i in range(joint.size) if i != UNK) + SMOOTHING * joint.size
        log_probability = math.fsum(math.log((counts[i] + SMOOTHING) / total) for i in ids)
        words = sum(joint.token(i).startswith("▁") for i in ids)
        return log_probability / len(ids), log_probability / max(words, 1)

    half = Counter(i for ids in sentences[::2] for i in ids)
    held_out = [measures(ids, half) for ids in sentences[1::2]]
    lowest = int(RARE * (len(held_out) - 1))
    thresholds = [sorted(column)[lowest] for column in zip(*held_out, strict=True)]
    assert [learnt["per_token"], learnt["per_word"]] == pytest.approx(thresholds, abs=1e-4)
    everything = Counter(i for ids in sentences for i in ids)
    assert learnt["counts"] == [everything[i] for i in range(joint.size)]
    tried = joint.encode_ids([text for pair in pairs_of("val", 100) for text in (pair.source, pair.target)])
    judged = Familiarity(joint, learnt).judge(tried)
    found = [any(a < b for a, b in zip(measures(ids, everything), thresholds, strict=True)) for ids in tried]
    assert [reason is not None for reason in judged] == found
    assert 50 < sum(found) < 150


def test_characters_and_words_that_the_vocabulary_lacks_need_no_counts(joint: Tokenizer) -> None:
    untaught = Familiarity(joint)
    assert untaught.judge([*joint.encode_ids(RUSSIAN), []]) == ["characters", "characters", None]
    assert share(untaught, joint, [pair.target for pair in pairs_of("val", 50)]) == 0
    words = Tokenizer.train(
        (pair.source for pair in pairs_of("train", 300)), TextConfig(unit="word", minimum_frequency=2)
    )
    reasons = Familiarity(words).judge(words.encode_ids(["Der Hund schläft.", "colourless green ideas", ""]))
    assert reasons == [None, "unknown words", None]
    assert learn(joint, []) is None
    assert learn(joint, ["Ein Hund.", " "]) is None


@pytest.mark.parametrize("minimum_frequency", [3, 30])
def test_unknown_words_are_rare_unless_training_was_full_of_them(minimum_frequency: int) -> None:
    sources = [pair.source for pair in pairs_of("train", 600)]
    words = Tokenizer.train(sources, TextConfig(unit="word", minimum_frequency=minimum_frequency))
    familiarity, new = Familiarity(words, learn(words, sources)), pairs_of("val", 300)
    assert share(familiarity, words, [pair.source for pair in new]) < 0.05
    if minimum_frequency == 3:
        assert share(familiarity, words, [pair.target for pair in new]) > 0.95


def test_the_model_that_ships_knows_captions_also_in_lower_case() -> None:
    translator = load()
    assert [one.unfamiliar for one in translator.translate([*KNOWN, ""])] == [None] * 5
    foreign = ["A man is riding a bicycle through the park.", "Un homme fait du vélo dans le parc.", *RUSSIAN]
    reasons = [one.unfamiliar for one in translator.translate(foreign, beam=1)]
    assert reasons == ["rare words", "rare words", "characters", "characters"]


def test_false_alarms_are_as_rare_as_the_documentation_says(multi30k_folder: Path) -> None:
    data = multi30k_module.load(multi30k_folder)
    run = RunDirectory.open(BUNDLED_MODEL)
    familiarity = Familiarity(run.tokenizers.source, run.read_familiarity())
    for split, most in (("val", 0.004), ("test_2016_flickr", 0.005)):
        pairs = list(data[split])
        assert share(familiarity, run.tokenizers.source, [pair.source for pair in pairs]) <= most
        assert share(familiarity, run.tokenizers.source, [pair.target for pair in pairs]) >= 0.995


def test_a_trained_run_keeps_what_it_counted(shared_runs: SharedRuns, tmp_path: Path) -> None:
    run = shared_runs.copy(tiny(), tmp_path / "run")
    learnt = run.read_familiarity()
    assert learnt is not None
    assert len(learnt["counts"]) == run.tokenizers.source.size
    assert load(run.path).translate("Der Hund schläft.").unfamiliar is None
    assert load(run.path).translate("The dog is sleeping in the house.").unfamiliar == "unknown words"
    file = run.path / "familiarity.json"
    for damage, complaint in (
        ("{", "familiarity.json"),
        ('{"counts": [1]}', "familiarity.json"),
        (json.dumps({**learnt, "per_word": "much"}), "familiarity.json: damaged"),
    ):
        file.write_text(damage)
        assert complaint in fails_with_a_sentence("translate", "--model", run.path, "Der Hund.")
    file.unlink()  # as in a run of an earlier version
    assert load(run.path).translate("Der Hund schläft.").unfamiliar is None


def test_the_warning_comes_once_and_counts() -> None:
    assert run_command("translate", *KNOWN[:3]).err == ""
    one = run_command("translate", "A man is riding a bicycle through the park.")
    assert one.code == 0
    [line] = one.err.splitlines()
    assert line.startswith("augenmerk: The sentence is unlike the text that this model was trained on")
    second = run_command("translate", KNOWN[0], RUSSIAN[0])
    assert second.err.startswith("augenmerk: Sentence 2 is unlike")
    lines = [*KNOWN[:2], *RUSSIAN, "", "A dog is sleeping on the couch in the house."]
    many = run_command("translate", "--json", stdin="\n".join(lines).encode())
    [line] = many.err.splitlines()
    assert line.startswith("augenmerk: 3 of 6 lines, from line 3 on, are unlike")
    assert "(2 with characters that the model never learnt; 1 with words" in line
    found = [json.loads(answer)["unfamiliar"] for answer in many.out.splitlines()]
    reasons = [each and each["reason"] for each in found]
    assert reasons == [None, None, "characters", "characters", None, "rare words"]
