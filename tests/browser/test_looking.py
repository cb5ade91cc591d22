"""Looking at the attention of really trained runs through commands: alignment, patterns, faithfulness."""

import json
import shutil
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from augenmerk import SentencePair
from augenmerk.analysis.faithfulness import measure_faithfulness, summarise
from augenmerk.analysis.measures import WordAttention, compute_measures
from augenmerk.analysis.pages import render_patterns_page
from augenmerk.analysis.patterns import find_patterns, summarise_heads, summarise_patterns
from augenmerk.analysis.wording import describe_dependence, describe_findings, describe_heads
from augenmerk.base.config import RunConfig
from augenmerk.data import open_bitext, open_data
from augenmerk.data.exporting import write_splits
from augenmerk.evaluation.agreement import measure_alignment
from augenmerk.run.directory import RunDirectory
from augenmerk.search.decoder import Hypothesis
from augenmerk.text.words import split_words
from augenmerk.training.loop import train
from augenmerk.training.start import start
from augenmerk.translation import Translation, load
from augenmerk.translation.alignment import GoldLinks, argmax_links, compare_links
from tests.support.browser import WatchedTab
from tests.support.command import fails_with_a_sentence, run_command, run_json
from tests.support.runs import CPU, SharedRuns, Silent, tiny

if TYPE_CHECKING:
    from playwright.sync_api import Browser as Chromium

KINDS = ["monotone", "inversion", "spread", "stuck", "shifted"]


def train_small(
    place: Path, data: dict[str, object], attention: str = "scaled-dot", epochs: int = 3
) -> RunDirectory:
    config = RunConfig.model_validate(
        {
            "data": data,
            "text": {"unit": "word", "joint": False},
            "model": {"embedding": 32, "hidden": 48, "key": 32, "attention": attention},
            "train": {"epochs": epochs, "batch_size": 16, "lr": 0.01, "precision": "fp32", "bleu": False},
        }
    )
    directory = start(config, place)
    train(directory, CPU, Silent())
    return directory


def book(folder: Path, *, gold: bool = True) -> dict[str, object]:
    """A small one, on the disk: the data of a run."""
    pairs = list(open_bitext("bilderbuch", pairs=500)["train"])
    for split, part in (("train", pairs[:400]), ("val", pairs[400:440]), ("test", pairs[440:])):
        write_splits({split: part}, folder, "de", "en", format="jsonl" if gold else "tsv")
    return {"bitext": str(folder), "source_language": "de", "target_language": "en"}


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("there")
    return train_small(place / "run", book(place / "pairs")).path


# evaluate --data


def test_data_that_was_moved_is_found_with_a_flag(there: Path, tmp_path: Path) -> None:
    run, pairs, old = tmp_path / "run", there.parent / "pairs", tmp_path / "old"
    shutil.copytree(there, run)
    config = run / "config.toml"
    moved = config.read_text(encoding="utf-8").replace(str(pairs), str(old))
    config.write_text(moved, encoding="utf-8")
    assert "--accept-changes" in fails_with_a_sentence("evaluate", run)
    accepted = run_command("train", "--resume", "--out", run, "--accept-changes")
    assert accepted.code == 0, accepted.err
    lost = fails_with_a_sentence("evaluate", run)
    assert f"{old}: there is no such file or folder" in lost
    assert "--data PATH" in lost
    [expected] = run_json("evaluate", there, "--beam", 1)
    [found] = run_json("evaluate", run, "--beam", 1, "--data", pairs)
    for row in (expected, found):
        del row["sentences_per_second"]
    assert found == expected
    assert config.read_text(encoding="utf-8") == moved
    [row] = run_json("evaluate", there, "--beam", 1, "--baseline", run, "--data", pairs)
    assert row["baseline"]["bleu"]["difference"] == 0
    assert "--data PATH" in fails_with_a_sentence("evaluate", there, "--baseline", run)
    both = ("--beam", 1, "--data", pairs, "--alignment")
    assert run_json("evaluate", run, *both)[0]["alignment"]["recall"] > 0
    wrong = fails_with_a_sentence("evaluate", run, "--data", tmp_path / "nowhere")
    assert f"{tmp_path / 'nowhere'}: there is no such file or folder" in wrong
    assert "--data PATH" not in wrong


# evaluate --alignment


def test_alignment_against_gold_links(there: Path, tmp_path: Path) -> None:
    [row] = run_json("evaluate", str(there), "--split", "val", "--beam", "1", "--alignment")
    pairs = list(open_data(RunDirectory.open(there).config.data)["val"])
    score = measure_alignment(load(there), pairs)
    found = row["alignment"]
    assert row["aer"] == pytest.approx(score.error)
    assert (found["against"], found["sentences"]) == ("gold", len(pairs))
    assert (found["precision"], found["recall"]) == pytest.approx((score.precision, score.recall))
    offsets = {int(offset): error for offset, error in found["aer_by_offset"].items()}
    assert offsets[0] == row["aer"]
    assert found["best_offset"] == min(offsets, key=lambda offset: offsets[offset])
    assert RunDirectory.open(there).read_scores()[-1]["aer"] == row["aer"]

    # Both files can be read again, and one is nothing but the gold links.
    lines = (there / "alignments" / "val.gold.align").read_text().splitlines()
    assert [line.split() for line in lines] == [
        [f"{i}-{j}" for i, j in pair.alignment or ()] for pair in pairs
    ]
    ours = (there / "alignments" / "val.attention.align").read_text().splitlines()
    # Every target word is linked exactly once.
    for line, pair in zip(ours, pairs, strict=True):
        assert sorted(int(link.split("-")[1]) for link in line.split()) == list(
            range(len(split_words(pair.target)))
        )

    # The attention itself as gold: no error at offset 0.
    copy = tmp_path / "gold.align"
    shutil.copy(there / "alignments" / "val.attention.align", copy)
    [perfect] = run_json(
        "evaluate", str(there), "--split", "val", "--beam", "1", "--alignment", "--gold", str(copy)
    )
    assert perfect["aer"] == 0
    assert perfect["alignment"]["best_offset"] == 0


def test_links_of_other_data_in_a_run_that_has_none_yet(there: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(there, run, ignore=shutil.ignore_patterns("alignments", "hypotheses"))
    pairs, gold = tmp_path / "own.tsv", tmp_path / "own.gold"
    pairs.write_text("Der Hund schläft.\tThe dog sleeps.\n", encoding="utf-8")
    gold.write_text("0-0 1-1 2-2 3-3\n", encoding="utf-8")
    languages = ("--source-language", "de", "--target-language", "en")
    [row] = run_json("evaluate", run, "--data", pairs, *languages, "--alignment", "--gold", gold)
    assert row["alignment"]["against"] == "gold"
    [kept] = (run / "alignments").rglob("*.gold.align")
    assert kept.read_text(encoding="utf-8") == gold.read_text(encoding="utf-8")


def test_silver_links_where_there_are_no_gold_ones(tmp_path: Path) -> None:
    pytest.importorskip("thot", reason="the optional extra 'align' is not installed")
    directory = train_small(tmp_path / "run", book(tmp_path / "pairs", gold=False), epochs=1)
    [row] = run_json("evaluate", str(directory.path), "--beam", "1", "--alignment")
    assert row["alignment"]["against"] == "silver"
    learnt_from = row["alignment"]["silver_pairs"]
    assert learnt_from == sum(len(list(open_data(directory.config.data)[name])) for name in ("train", "val"))
    assert 0 < row["aer"] < 1
    assert (directory.path / "alignments" / "val.silver.align").exists()
    said = run_command("evaluate", directory.path, "--beam", "1", "--alignment")
    assert "silver: links by a word aligner" in " ".join(said.out.split())
    assert f"learnt from {learnt_from:,} pairs only" in " ".join(said.err.split())


def test_what_alignment_cannot_mean_is_refused(there: Path, tmp_path: Path) -> None:
    evaluate = ("evaluate", str(there))
    assert "add --alignment" in fails_with_a_sentence(*evaluate, "--gold", "x")
    missing = fails_with_a_sentence(*evaluate, "--alignment", "--gold", str(tmp_path / "none"))
    assert "there is no such file" in missing
    two = fails_with_a_sentence(*evaluate, "--alignment", "--gold", "x", "--split", "val", "--split", "test")
    assert "one --split" in two


def test_a_model_that_attends_to_nothing_has_no_alignment(tmp_path: Path) -> None:
    directory = train_small(tmp_path / "run", book(tmp_path / "pairs"), "none", epochs=1)
    [row] = run_json("evaluate", str(directory.path), "--beam", "1", "--alignment")
    assert row["aer"] is None
    shown = run_command("evaluate", str(directory.path), "--beam", "1", "--alignment")
    assert "against" in shown.out
    for command in ("patterns", "faithfulness"):
        assert "attends to nothing" in fails_with_a_sentence(command, str(directory.path))


# patterns


def test_patterns_of_a_split(there: Path, tmp_path: Path) -> None:
    out = tmp_path / "patterns"
    found = run_json("patterns", there, "--top", 4, "--out", out, "--beam", 1)
    assert len(found) == 4
    for one in found:
        assert {"index", "kind", "measures", "source", "translation", "verdict", "moved"} <= one.keys()
    summary = json.loads((out / "summary.json").read_text())
    assert list(summary["kinds"]) == KINDS
    assert sum(summary["kinds"].values()) + summary["without_words"] == summary["sentences"] == 40
    assert json.loads((out / "patterns.json").read_text()) == found
    page = (out / "index.html").read_text()
    names = [path.name for path in out.glob("*.svg")]
    assert len(names) == 4
    assert all(f'href="{name}"' in page for name in names)
    assert "<script" not in page

    for kind, count in summary["kinds"].items():
        of_kind = run_json("patterns", there, "--top", 99, "--kind", kind, "--beam", 1)
        assert len(of_kind) == count
        assert {one["kind"] for one in of_kind} <= {kind}
        strengths = [one["strength"] for one in of_kind]
        assert strengths == sorted(strengths, reverse=True)
    none = next(kind for kind, count in summary["kinds"].items() if not count)
    assert f"is of the kind '{none}'" in run_command("patterns", there, "--kind", none).err


def test_patterns_are_held_against_gold(there: Path) -> None:
    shown = run_command("patterns", str(there), "--split", "test", "--reference", "--top", "2")
    assert shown.code == 0
    assert "Compared with gold links" in shown.out
    assert "true inversions" in shown.out


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--kind", "twisted"), "the kinds are monotone, inversion"),
        (("--split", "nowhere"), "no split called 'nowhere'"),
        (("--reference", "--beam", "2"), "--reference or --beam"),
    ],
)
def test_patterns_that_cannot_be_meant_are_refused(
    there: Path, arguments: tuple[str, ...], complaint: str
) -> None:
    assert complaint in fails_with_a_sentence("patterns", str(there), *arguments)


def test_a_file_is_no_folder_for_pictures(there: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for command in ("patterns", "faithfulness"):
        complaint = fails_with_a_sentence(command, str(there), "--out", str(tmp_path / "file"))
        assert "is a file" in complaint


def test_strange_sentences_are_shown_or_have_no_pattern(there: Path) -> None:
    translator = load(there)
    hostile = "<script>alert('Hund')</script> & \"$x_1$\" | ]]>"
    texts = ["Der Hund " * 100, "Hund", "", " ", hostile, "الكلب ينام تحت الطاولة", "...", "\u202eHund"]
    pairs = [SentencePair(text, hostile) for text in texts]
    translations = translator.translate(texts, beam=1)
    matches = find_patterns(pairs, translations, "de")
    assert {0, 1, 4, 5, 6} <= {match.index for match in matches}
    assert not {2, 3} & {match.index for match in matches}
    summary = summarise_patterns(pairs, matches, of_references=False)
    page = render_patterns_page("page", "intro", matches, matches, summary, ["picture.svg"] * len(matches))
    assert "<script" not in page
    assert page.count('class="card"') == len(matches)
    measured = measure_faithfulness(translator, translations)
    assert [len(one.drops["uniform"]) for one in measured] == [len(one.target_words) for one in translations]


# faithfulness


def test_faithfulness_of_a_split_and_of_a_sentence(there: Path, tmp_path: Path) -> None:
    out = tmp_path / "faithful"
    arguments = ("--split", "test", "--reference", "--index", "3", "--out", str(out))
    found = run_json("faithfulness", str(there), *arguments)
    [chosen] = found["chosen"]
    assert chosen["index"] == 3
    assert len(chosen["drops"]["uniform"]) == len(chosen["target_words"])
    [row] = run_json("evaluate", str(there), "--split", "test", "--beam", "1")
    assert found["loss"] == pytest.approx(row["loss"], rel=1e-5)
    assert found["tokens"] == row["tokens"]
    assert found["uniform"]["perplexity"] > found["perplexity"]
    page = (out / "index.html").read_text()
    assert "permuted" in page
    assert len(list(out.glob("*.svg"))) == 1
    shown = run_command("faithfulness", str(there), "--split", "test", "--index", "0")
    assert "looks at" in shown.out


def test_a_sentence_that_is_not_there_is_named(there: Path) -> None:
    complaint = fails_with_a_sentence("faithfulness", str(there), "--index", "100000")
    assert "has no sentence 100000" in complaint


def test_a_browser_shows_the_page_without_a_network(
    chromium: "Chromium", there: Path, tmp_path: Path
) -> None:
    out = tmp_path / "patterns"
    assert run_command("patterns", str(there), "--top", "3", "--out", str(out)).code == 0
    with chromium.new_context() as context:
        watched = WatchedTab(context, (out / "index.html").as_uri())
        assert watched.tab.locator(".card").count() == 3
        assert "sentences of val" in watched.tab.inner_text("body")
        assert watched.complaints == []


# Sentences of one's own, and data that is not there


def test_sentences_of_ones_own_are_looked_at_instead_of_a_split(there: Path, tmp_path: Path) -> None:
    sentences = ("Der Hund schläft unter dem Tisch.", "Den Ball wirft der Junge.")
    matches = run_json("patterns", there, *sentences, "--out", tmp_path / "page")
    translations = load(there).translate(sentences)
    assert {match["index"]: match["translation"] for match in matches} == {
        number: one.text for number, one in enumerate(translations)
    }
    assert {match["reference"] for match in matches} == {None}
    assert "2 sentences of command line" in (tmp_path / "page" / "index.html").read_text()
    found = run_json("faithfulness", there, *sentences)
    assert [one["source"] for one in found["chosen"]] == list(sentences)
    assert (found["split"], found["sentences"]) == ("command line", 2)
    measured = measure_faithfulness(load(there), translations)
    assert found["uniform"]["mean_drop"] == pytest.approx(summarise(measured)["uniform"]["mean_drop"])
    for command in ("patterns", "faithfulness"):
        assert "in no split" in fails_with_a_sentence(command, there, sentences[0], "--split", "val")
        assert "there is no such run" in fails_with_a_sentence(command, "runs/mistyped")
        assert "Sentence 2 is empty" in fails_with_a_sentence(command, there, sentences[0], " ")
    long = " ".join(["Hund"] * 100)
    assert run_command("patterns", long, "--device", "cpu").code == 0


def test_bilderbuch_is_looked_at_where_the_data_of_a_german_run_is_missing(
    there: Path, tmp_path: Path
) -> None:
    def moved(name: str, *languages: str) -> Path:
        shutil.copytree(there, tmp_path / name)
        config = tmp_path / name / "config.toml"
        settings = config.read_text(encoding="utf-8").replace(
            str(there.parent / "pairs"), str(tmp_path / "nowhere")
        )
        for old, new in zip(("de", "en"), languages, strict=False):
            settings = settings.replace(f'_language = "{old}"', f'_language = "{new}"')
        config.write_text(settings, encoding="utf-8")
        return RunDirectory.open(tmp_path / name, accept_changes=True).path

    german, czech = moved("german"), moved("czech", "cs", "en")
    for command in ("patterns", "faithfulness"):
        answer = run_command(command, german, "--top", 1, "--beam", 1)
        assert answer.code == 0, answer.err
        assert "nowhere, is not here: these are sentences of bilderbuch (val) instead." in answer.err
        assert "there is no such file or folder" in fails_with_a_sentence(command, czech)
        assert "there is no such file or folder" in fails_with_a_sentence(command, german, "--split", "dev")


def test_heads_are_compared_and_chosen(shared_runs: SharedRuns, tmp_path: Path) -> None:
    config = tiny(model__attention="multi-head", model__heads=4, train__epochs=3)
    run = shared_runs.copy(config, tmp_path / "run").path
    pairs = list(open_data(RunDirectory.open(run).config.data)["val"])
    scored = load(run).score_all([(pair.source, pair.target) for pair in pairs], heads=True)
    heads = summarise_heads(pairs, scored, of_references=True)
    assert [one.head for one in heads] == [1, 2, 3, 4]
    for number, one in enumerate(heads):
        # As though the model had this head alone.
        alone = [replace(each, heads=(), hypothesis=with_weights(each, number)) for each in scored]
        measured = [compute_measures(WordAttention.from_translation(each)) for each in alone]
        mean = sum(each.monotonicity for each in measured) / len(measured)
        assert one.monotonicity == pytest.approx(mean)
        links = [argmax_links(each.attention[:-1, :-1].tolist()) for each in alone]
        gold = [GoldLinks.of(pair.alignment or ()) for pair in pairs]
        assert one.alignment_error == pytest.approx(compare_links(zip(links, gold, strict=True)).error)
    answer = run_command("patterns", run, "--split", "val", "--reference", "--heads", "--top", 1)
    assert answer.code == 0, answer.err
    assert describe_heads(heads) in answer.out.replace("\n", " ")
    best = min(heads, key=lambda one: one.alignment_error or 1)
    assert f"head {best.head} is closest to the gold links" in answer.out
    asked = ("patterns", run, "--split", "val", "--reference", "--top", 2)
    found = run_json(*asked, "--heads")
    for described, one in zip(found["heads"], heads, strict=True):
        assert described == pytest.approx(asdict(one))
    assert found["heads_in_words"] == describe_heads(heads)
    assert found["chosen"] == run_json(*asked)
    assert (found["of"], found["sentences"], list(found["kinds"])) == ("references", len(pairs), KINDS)

    first, second = (run_json("patterns", run, "--head", number, "--top", 50) for number in (1, 2))
    assert {match["head"] for match in first} == {1}
    by_index = {match["index"]: match["measures"] for match in second}
    assert any(match["measures"] != by_index.get(match["index"], match["measures"]) for match in first)
    translated = load(run).translate([pair.source for pair in pairs], heads=True)
    for match in first[:5]:
        one = translated[match["index"]]
        measures = compute_measures(WordAttention.from_translation(one, one.heads[0]))
        assert match["measures"]["sharpness"] == pytest.approx(measures.sharpness)
    assert "There is no head 5: this model has 4." in fails_with_a_sentence("patterns", run, "--head", 5)


def with_weights(one: Translation, head: int) -> Hypothesis:
    assert one.hypothesis is not None
    return replace(one.hypothesis, weights=one.heads[head].subword_attention)


def test_what_was_found_is_said_in_words(there: Path) -> None:
    summary = summarise(measure_faithfulness(load(there), load(there).translate(["Der Hund schläft."])))
    share, drop = "share_that_falls", "mean_drop"

    def words(needed: float, uniform: float, permuted: float) -> str:
        changed = {"uniform": {share: needed, drop: uniform}, "permuted": {share: needed, drop: permuted}}
        return describe_findings({**summary, **{key: {**summary[key], **changed[key]} for key in changed}})

    assert words(0.7, 1.0, 2.0).startswith("Most words need the attention: ")
    assert "70% of them lose a tenth of their probability" in words(0.7, 1.0, 2.0)
    assert "where it looks matters" in words(0.7, 1.0, 2.0)
    assert words(0.3, 1.0, 0.5).startswith("Some words need")
    assert "does less harm" in words(0.3, 1.0, 0.5)
    assert words(0.1, 0.02, 0.03).startswith("Few words need")
    assert "about as much harm" in words(0.1, 0.02, 0.03)
    answer = run_command("faithfulness", there, "Der Hund schläft unter dem Tisch.")
    assert "the attention: with the same weight on every source word" in answer.out
    [one] = measure_faithfulness(load(there), load(there).translate(["Der Hund schläft unter dem Tisch."]))
    assert " ".join(describe_dependence(one).split()) in " ".join(answer.out.split())
