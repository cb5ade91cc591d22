"""Several models together: against the mean of tables, against each model's own words, and as real runs."""

import json
import math
import random
from functools import partial
from itertools import islice, permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import augenmerk
from augenmerk import AugenmerkError, Translation
from augenmerk.base.config import ATTENTIONS, ModelConfig, SearchConfig
from augenmerk.data import open_bitext
from augenmerk.evaluation.comparison import compare_runs
from augenmerk.evaluation.evaluator import Evaluator, evaluate_run, measure_loss, path_of_row
from augenmerk.model.gru import GRUTranslator
from augenmerk.run.directory import RunDirectory
from augenmerk.search.beam import force
from augenmerk.search.decoder import EnsembleDecoder, Hypothesis
from augenmerk.text.batching import ParallelTokens
from augenmerk.text.tokenizer import BOS
from augenmerk.training.start import start
from augenmerk.translation import Translator
from augenmerk.translation.mbr import minimum_bayes_risk
from tests.cli.test_evaluate import KEYS, copied, lines_of, sacrebleu_prints
from tests.cli.test_translate import settings_of
from tests.support.command import fails_with_a_sentence, run_command
from tests.support.decoding import decode, sample, score, search, trace
from tests.support.runs import CPU, SharedRuns
from tests.unit.test_search import TableDecoder

SENTENCES = [pair.source for pair in islice(open_bitext("bilderbuch")["test"], 12)]


def alike(ours: Hypothesis, theirs: Hypothesis) -> None:
    assert (ours.ids, ours.finished) == (theirs.ids, theirs.finished)
    assert ours.score == pytest.approx(theirs.score, abs=1e-6)
    assert ours.log_probability == pytest.approx(theirs.log_probability, abs=1e-6)
    assert ours.token_log_probabilities == pytest.approx(theirs.token_log_probabilities, abs=1e-6)
    columns = min(ours.weights.shape[1], theirs.weights.shape[1])
    np.testing.assert_allclose(ours.weights[:, :columns], theirs.weights[:, :columns], atol=1e-6, rtol=1e-6)


def all_alike(ours: list[list[Hypothesis]], theirs: list[list[Hypothesis]]) -> None:
    for our_list, their_list in zip(ours, theirs, strict=True):
        for our, their in zip(our_list, their_list, strict=True):
            alike(our, their)


# Tables: the ensemble of some tables is their mean


@settings(max_examples=25)
@given(seed=st.integers(0, 10**6), sentences=st.integers(1, 7), count=st.integers(1, 4), data=st.data())
def test_an_ensemble_of_tables_is_a_mean(seed: int, sentences: int, count: int, data: st.DataObject) -> None:
    vocabulary, limit = data.draw(st.integers(5, 90)), data.draw(st.integers(1, 8))
    tables: list[TableDecoder] = []
    for number in range(count):
        table = TableDecoder.random(seed + number, sentences, vocabulary)
        # Each looks elsewhere: at the sentence's number times 1, 3, 5 ...; on average, times count.
        exact = torch.asarray(table.table).double().log_softmax(2).numpy()
        tables.append(TableDecoder(table.numbers * (2 * number + 1), exact, table.room))
    mean = np.log(np.mean([np.exp(each.table) for each in tables], axis=0))
    one = TableDecoder(np.arange(sentences) * count, mean, tables[0].room)
    together = EnsembleDecoder(tables)
    assert together.sentences == sentences
    for beam in (1, 3):
        settings_: Any = {"beam": beam, "n_best": beam, "max_lengths": limit, "length_penalty": 0.6}
        all_alike(search(together, **settings_), search(one, **settings_))
        for ours, theirs in zip(trace(together, **settings_), trace(one, **settings_), strict=True):
            assert [node.token for node in ours.nodes] == [node.token for node in theirs.nodes]
    drawn: Any = {"seed": seed, "n": 3, "max_lengths": limit}
    all_alike(sample(together, **drawn), sample(one, **drawn))
    rng = random.Random(seed)
    targets = [[rng.randrange(3, vocabulary) for _ in range(rng.randrange(6))] for _ in tables[0].table]
    all_alike([force(together, targets)], [force(one, targets)])


def test_what_one_member_rules_out_the_other_may_say() -> None:
    """The reason for the mean of probabilities: no veto. And what is out of reach of floats stays finite."""
    one, other = (TableDecoder.random(seed, 2, 6) for seed in (1, 2))
    one.table[..., 5] = -math.inf
    one.table[..., 4] = other.table[..., 4] = -200.0
    together, begin = EnsembleDecoder([one, other]), np.full((2, 1), BOS)
    log_probs, _, state = together.step(begin, together.start())
    theirs, _, _ = other.step(begin, other.start())
    np.testing.assert_allclose(log_probs[..., 5], theirs[..., 5] - math.log(2), rtol=1e-6)
    np.testing.assert_allclose(log_probs[..., 4], np.full((2, 1), -200.0), rtol=1e-6)
    assert len(state) == len(one.start()) + len(other.start())


# Random translators


def tiny(seed: int, attention: str, layers: int = 1, hidden: int = 5) -> GRUTranslator:
    torch.manual_seed(seed)
    sizes = {"embedding": 6, "hidden": hidden, "key": 4, "heads": 2, "layers": layers}
    config = ModelConfig.model_validate({**sizes, "attention": attention, "tie": "none"})
    model = GRUTranslator(config, 30, 30).double().eval()
    with torch.no_grad():
        for weights in model.parameters():
            weights.mul_(3)  # more decided than models are before they are trained
    return model


def sources_of(seed: int, count: int = 6) -> list[list[int]]:
    rng = random.Random(seed)
    return [[rng.randrange(4, 30) for _ in range(rng.randrange(1, 9))] for _ in range(count)]


models = st.builds(tiny, st.integers(0, 10**6), st.sampled_from(ATTENTIONS), st.just(2), st.integers(3, 7))
SEARCH = SearchConfig(beam=3, length_penalty=0.6, max_length=8)


@settings(max_examples=6)
@given(st.lists(models, min_size=2, max_size=3), st.integers(0, 10**6))
def test_neither_order_nor_company_matters(members: list[GRUTranslator], seed: int) -> None:
    sources = sources_of(seed)
    config = SEARCH.model_copy(update={"n_best": 2})
    found = decode(members, sources, config)
    for order in permutations(members):
        all_alike(decode(order, sources, config), found)
    alone = [decode(members, [source], config)[0] for source in sources]
    all_alike(alone, found)


@settings(max_examples=15)
@given(st.lists(models, min_size=1, max_size=3), st.integers(0, 10**6))
def test_the_loss_of_an_ensemble(members: list[GRUTranslator], seed: int) -> None:
    sources, targets = sources_of(seed), sources_of(seed + 1)
    data = ParallelTokens.of(zip(sources, targets, strict=True)).to("cpu")
    loss = measure_loss(members, data, 4)
    forced = score(members, sources, targets)
    assert loss.total == pytest.approx(-sum(each.log_probability for each in forced), rel=1e-9)
    assert loss.total <= sum(measure_loss([model], data).total for model in members) / len(members) + 1e-9


# Runs


@pytest.fixture(scope="module")
def first(shared_runs: SharedRuns, folder: Path) -> RunDirectory:
    return shared_runs.copy(settings_of(1, "scaled-dot"), folder / "first")


@pytest.fixture(scope="module")
def second(shared_runs: SharedRuns, folder: Path) -> RunDirectory:
    return shared_runs.copy(settings_of(2, "additive", 2), folder / "second")


@pytest.fixture(scope="module")
def both(first: RunDirectory, second: RunDirectory) -> Translator:
    return augenmerk.load([first.path, str(second.path)])


@pytest.fixture(scope="module")
def strange(folder: Path, first: RunDirectory) -> RunDirectory:
    """A run with another vocabulary."""
    text = first.config.text.model_copy(update={"vocabulary_size": 400})
    return start(first.config.model_copy(update={"text": text}), folder / "strange")


def everything(translation: Translation) -> list[Translation]:
    return [translation, *translation.alternatives]


def test_an_ensemble_of_runs_can_be_asked_all_that_a_run_can(both: Translator) -> None:
    found = both.translate(SENTENCES, n_best=3)
    assert found[0].text == both.translate(SENTENCES, beam=4)[0].text  # the beam of the first
    compared = 0
    for translation in found:
        for each in everything(translation):
            again = both.score(each.source, each.text)
            assert again.hypothesis is not None
            assert each.hypothesis is not None
            # A text may be split into other tokens than those it was made of; then its score is another.
            if each.finished and again.hypothesis.ids == each.hypothesis.ids:
                compared += 1
                assert again.log_probability == pytest.approx(each.log_probability, abs=1e-3)
                np.testing.assert_allclose(again.attention, each.attention, atol=1e-4, rtol=0)
    assert compared >= len(SENTENCES)
    drawn = both.translate(SENTENCES[0], sample=True, n_best=4, seed=3)
    assert len(everything(drawn)) == 4
    tree = both.trace(SENTENCES[0], beam=3)
    assert tree["hypotheses"][0]["translation"] == both.translate(SENTENCES[0], beam=3).text
    with pytest.raises(AugenmerkError, match="needs one model, but several are loaded as an ensemble"):
        _ = both.model


def test_the_shortest_limit_holds_for_all(first: RunDirectory, second: RunDirectory, tmp_path: Path) -> None:
    listed = augenmerk.load([first.path])
    assert listed.model is listed.models[0]
    with pytest.raises(AugenmerkError, match="no run to load"):
        augenmerk.load([])
    short = copied(second, tmp_path / "short", max_length=9)
    together = augenmerk.load([first.path, short.path])
    assert together.max_source_length == 9
    assert together.translate(SENTENCES[0]).truncated


def test_unknown_words_need_attention(first: RunDirectory, second: RunDirectory, tmp_path: Path) -> None:
    mean = first.config.model.model_copy(update={"attention": "mean"})
    place = start(first.config.model_copy(update={"model": mean}), tmp_path / "mean")
    model = GRUTranslator(place.config.model, place.tokenizers.source.size, place.tokenizers.target.size)
    place.save_model(model.state_dict(), {})
    together = augenmerk.load([second.path, place.path])
    with pytest.raises(AugenmerkError, match="attention of this model is 'mean'"):
        together.translate("Hund", replace_unknown=True)


# Minimum Bayes risk over the lists of runs


def test_mbr_chooses_from_all_lists(both: Translator, first: RunDirectory, second: RunDirectory) -> None:
    members = [augenmerk.load(run.path) for run in (first, second)]
    empty, *found = both.translate(["", *SENTENCES], mbr=True, beam=5, n_best=20)
    assert (empty.text, "expected_chrf" in empty.to_dict()) == ("", False)
    pooled = 0
    for translation in found:
        lists = [everything(one.translate(translation.source, beam=5, n_best=5)) for one in members]
        found_by = [[each.hypothesis for each in own if each.hypothesis] for own in lists]
        expected = minimum_bayes_risk(found_by, both.tokenizers.target)
        ranked = everything(translation)
        worths = [each.expected_chrf for each in expected]
        assert [each.expected_chrf for each in ranked] == pytest.approx(worths, abs=1e-2)
        pooled += len(ranked) > 5
        for each in ranked:
            # The score and the attention are those of the member that found it.
            finders = [other for own in lists for other in own if other.text == each.text]
            own = max(finders, key=lambda other: other.log_probability)
            assert each.score == pytest.approx(own.score, abs=1e-4)
            np.testing.assert_allclose(each.attention, own.attention, atol=1e-4, rtol=0)
    assert pooled > 3
    reverse = augenmerk.load([second.path, first.path])
    again = reverse.translate(SENTENCES, mbr=True, beam=5)
    alone = [both.translate(sentence, mbr=True, beam=5) for sentence in SENTENCES]
    for one, other, third in zip(found, again, alone, strict=True):
        assert one.text == other.text == third.text
        assert third.alternatives == ()


# Scores


@pytest.fixture(scope="module")
def measured(first: RunDirectory, second: RunDirectory) -> dict[str, dict[str, Any]]:
    plain = evaluate_run(Evaluator(first, CPU), ["train"], [3])
    together = evaluate_run(Evaluator(first, CPU, ensemble=[second]), ["train"], [3])
    least = evaluate_run(Evaluator(first, CPU, mbr=True), ["train"], [3])
    pooled = evaluate_run(Evaluator(first, CPU, ensemble=[second], mbr=True), ["train"], [3])
    return {"plain": plain[0], "together": together[0], "least": least[0], "pooled": pooled[0]}


def test_scores_of_ensembles_are_kept_apart(
    first: RunDirectory, second: RunDirectory, measured: dict[str, dict[str, Any]]
) -> None:
    assert first.read_scores() == [measured["plain"]]
    assert first.read_scores(other=True) == [measured["together"], measured["least"], measured["pooled"]]
    assert second.read_scores() == second.read_scores(other=True) == []
    assert measured["plain"].keys() == {*KEYS}
    assert measured["pooled"].keys() == {*KEYS, "ensemble", "mbr"} - {"model_score"}  # MBR goes by others
    assert measured["together"]["ensemble"] == [str(second.path)]
    assert measured["together"]["loss"] < measured["plain"]["loss"] == measured["least"]["loss"]
    again = evaluate_run(Evaluator(first, CPU, mbr=True), ["train"], [3])
    assert [row.get("ensemble") for row in first.read_scores(other=True)] == [[str(second.path)]] * 2 + [None]
    assert first.read_scores() == [measured["plain"]]
    assert again[0]["bleu"] == measured["least"]["bleu"]


def test_each_has_a_file_that_sacrebleu_scores_the_same(
    first: RunDirectory, both: Translator, measured: dict[str, dict[str, Any]]
) -> None:
    alone = augenmerk.load(first.path)
    pairs = list(open_bitext("bilderbuch", pairs=120)["train"])
    reference = first.path / "hypotheses" / "train.reference.txt"
    for name, translator in (("plain", alone), ("together", both), ("least", alone), ("pooled", both)):
        row = measured[name]
        mbr = row.get("mbr", False)
        path = path_of_row(first, row)
        assert ("ensemble-of-2-" in path.name, ".mbr." in path.name) == (translator is both, mbr)
        found = translator.translate([pair.source for pair in pairs], beam=3, mbr=mbr)
        assert lines_of(path) == [each.text for each in found]
        lower = sacrebleu_prints(reference, "-i", path, "-m", "bleu", "chrf", "-lc", "--chrf-lowercase")
        assert [row["bleu"], row["chrf"]] == pytest.approx([each["score"] for each in lower], abs=1e-8)


def test_which_ensemble_it_is_depends_on_its_members_alone(first: RunDirectory, tmp_path: Path) -> None:
    def path(*others: str) -> Path:
        return path_of_row(first, {"split": "val", "beam": 5, "ensemble": others})

    a, b = str(tmp_path / "a" / "run"), str(tmp_path / "b" / "run")
    assert path(a, b) == path(b, a) == path(f"{a}/../run", b)
    assert len({path(a, b), path(a), path(b), path(a, a)}) == 4


def test_an_ensemble_is_tested_against_a_run_of_its_own(first: RunDirectory, second: RunDirectory) -> None:
    kept = [row for row in first.read_scores() if row["beam"] != 2]
    [row] = compare_runs(Evaluator(first, CPU, ensemble=[second]), Evaluator(first, CPU), ["train"], [2])
    assert f"{first.path} with {second.path} is " in row["baseline"]["bleu"]["in_words"]
    [own] = [each for each in first.read_scores() if each["beam"] == 2]
    assert row["baseline"]["bleu"]["baseline_score"] == pytest.approx(own["bleu"])
    assert row["baseline"]["bleu"]["score"] == pytest.approx(row["bleu"])
    first.write_scores(kept)


# The command line


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"mbr": True, "beam": 1}, "cannot choose from one hypothesis"),
        ({"mbr": True, "sample": True, "candidates": 1}, "'candidates': .*greater than or equal to 2"),
        ({"mbr": True, "beam": 3, "candidates": 4}, "beam of 3 does not find 4"),
        ({"candidates": 4}, "set mbr = true too"),
    ],
)
def test_what_mbr_cannot_choose_from(options: dict[str, Any], complaint: str, first: RunDirectory) -> None:
    with pytest.raises(AugenmerkError, match=complaint):
        augenmerk.load(first.path).translate("Der Hund.", **options)


def test_commands(first: RunDirectory, second: RunDirectory, strange: RunDirectory, both: Translator) -> None:
    asked = ("evaluate", first.path, "--ensemble", second.path, "--mbr", "--split", "val", "--beam", 2)
    answer = run_command(*asked)
    assert answer.out.startswith(f"{first.path} with {second.path} by MBR\n\nsplit")
    assert ".mbr.txt" in answer.err
    [row] = json.loads(run_command(*asked, "--json").out)
    assert (row["ensemble"], row["mbr"]) == ([str(second.path)], True)
    for arguments, complaint in (
        (
            ("--ensemble", strange.path),
            f"{first.path} and {strange.path} cannot translate together: their source vocabularies differ",
        ),
        (("--ensemble", "nowhere"), "nowhere: there is no such run directory"),
        (("--mbr", "--beam", 1), "MBR cannot choose from one hypothesis: use a beam of 10"),
    ):
        assert complaint in fails_with_a_sentence("evaluate", first.path, *arguments)
    ask = partial(run_command, "translate", "--model", first.path, "--model", second.path)
    assert ask(SENTENCES[0], "--beam", 2).out == both.translate(SENTENCES[0], beam=2).text + "\n"
    best = everything(both.translate(SENTENCES[0], mbr=True, n_best=2))
    lines = [f"1\t{each.expected_chrf:.4f}\t{each.text}\n" for each in best]
    assert ask(SENTENCES[0], "--mbr", "--n-best", 2).out == "".join(lines)
    drawn = json.loads(ask(SENTENCES[0], "--mbr", "--sample", "--candidates", 9, "--json").out)
    expected = both.translate(SENTENCES[0], mbr=True, sample=True, candidates=9)
    assert (drawn["translation"], drawn["expected_chrf"]) == (expected.text, expected.expected_chrf)
    answer = ask("Hund", "--candidates", 9)
    assert (answer.code, answer.out) == (2, "")
    assert "set mbr = true too" in answer.err
