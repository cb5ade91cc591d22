"""Measures how good a model is: loss and perplexity on references, and scores of its translations.

Loss is the mean over all real target tokens of a split, end of sentence included, of the negative natural
logarithm of their probability. It is summed over the whole split before it is divided, so every
token has the same weight, however large its batch. Perplexity is its exponential.

Both depend on what a token is: splitting text more finely makes each token easier. `word_perplexity`
divides the same sum by the number of words (`augenmerk.text.words`) and sentence ends instead, so models
with different vocabularies can be compared. This does not hold if words were replaced by <unk>, which is
easier to predict than the words themselves.
"""

import hashlib
import math
import os
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from augenmerk.base.arrays import to_numpy
from augenmerk.base.errors import AugenmerkError
from augenmerk.base.files import write_lines
from augenmerk.data import Bitext, SentencePair, open_data, sum_pairs
from augenmerk.evaluation.agreement import Agreement, Progress
from augenmerk.evaluation.metrics import score_texts
from augenmerk.run.directory import HYPOTHESES, RunDirectory
from augenmerk.search.decoder import StepModel, mean_of_probabilities
from augenmerk.text.batching import ParallelTokens, encode_pairs
from augenmerk.text.words import split_words
from augenmerk.translation import Translation, Translator
from augenmerk.translation.data import PairData, WordsData

if TYPE_CHECKING:
    import torch


BATCH_SIZE = 128
OTHER_LABELS = ("ensemble", "mbr", "precision", "data", "hypotheses")
"""The keys of rows that are not about the run alone on its own data."""


@dataclass(frozen=True)
class Loss:
    """The summed loss of a split, and the number of tokens to divide it by."""

    total: float
    """Negative log-probability of all target tokens, in nats."""
    tokens: int
    """Real target tokens, ends of sentences included."""

    @classmethod
    def of(cls, sums: NDArray[np.float64], tokens: NDArray[np.int64]) -> "Loss":
        """Sums what `sentence_losses` returns."""
        return cls(float(sums.sum()), int(tokens.sum()))

    @property
    def mean(self) -> float:
        return self.total / self.tokens

    @property
    def perplexity(self) -> float:
        return exp(self.mean)

    def word_perplexity(self, words: int) -> float:
        """Returns the perplexity per word, given the number of words as `count_words` counts them."""
        return exp(self.total / words)


def exp(x: float) -> float:
    """Returns e**x, or infinity where that is too large for a float."""
    return math.exp(x) if x < 700 else math.inf


def count_words(pairs: Iterable[SentencePair]) -> int:
    """Returns the number of target words, plus one end for each sentence."""
    return sum(len(split_words(pair.target)) + 1 for pair in pairs)


def measure_loss(models: Sequence[StepModel], data: ParallelTokens, batch_size: int = BATCH_SIZE) -> Loss:
    """Computes the loss of a model, or of an ensemble, in fp32."""
    return Loss.of(*sentence_losses(models, data, batch_size))


def sentence_losses(
    models: Sequence[StepModel], data: ParallelTokens, batch_size: int = BATCH_SIZE
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Returns for each sentence the summed loss of its target tokens, in nats, and their number.

    The data is in numpy, or on the device of the models. Models of torch must be in evaluation mode, so that
    there is no dropout.
    """
    if any(getattr(model, "training", False) for model in models):
        raise ValueError("a model that is evaluated must be in evaluation mode: call model.eval()")
    sums = np.zeros(len(data))
    for batch in data.batches(data.plan(batch_size, shuffle=False)):
        log_probs = mean_of_probabilities([model.target_log_probs(batch) for model in models])
        mask = to_numpy(batch.tgt_mask)
        terms = np.zeros(mask.shape)
        terms[mask] = -to_numpy(log_probs)
        sums[to_numpy(batch.indices)] = terms.sum(axis=1)
    return sums, data.target.lengths + 1


@dataclass(frozen=True)
class Evaluation:
    """One split translated with one beam: its row of scores, the translations and the references."""

    row: dict[str, Any]
    hypotheses: list[str]
    references: list[str]


class Evaluator:
    """Evaluates a run, alone or in an ensemble. The model is loaded once, and each loss is computed once."""

    def __init__(
        self,
        run: RunDirectory,
        device: "torch.device | str",
        *,
        ensemble: Sequence[RunDirectory] = (),
        mbr: bool = False,
        precision: str | None = None,
        data: Bitext | None = None,
        metrics: Collection[str] = (),
        alignment: Agreement | None = None,
        on_progress: Progress = lambda *_: None,
    ) -> None:
        """`precision` and `data` may be others than the run's settings name; rows then say which.

        `metrics` are those to compute that are not always computed, such as "ter".
        """
        self.run = run
        # Before it is loaded: `save_row` raises an error if it is replaced meanwhile.
        self._model_sha256 = run.model_digest if run.model_path.exists() else None
        self._data = data
        self.translator = Translator.from_runs([run, *ensemble], device)
        self._mbr = mbr
        self._precision = precision
        labels: dict[str, Any] = {
            "ensemble": [str(other.path) for other in ensemble],
            "mbr": mbr,
            "precision": precision if precision != run.config.search.precision else None,
            "data": None if data is None else data.name,
        }
        self.row_labels = {key: value for key, value in labels.items() if value}
        """The labels of rows that are not about the run alone, as it is, on its own data."""
        self.metrics = metrics
        self._alignment = alignment
        self.on_progress = on_progress
        self._losses: dict[str, tuple[NDArray[np.float64], NDArray[np.int64]]] = {}

    @property
    def name(self) -> str:
        """A readable name of what is evaluated."""
        return describe_row(self.run, self.row_labels)

    @cached_property
    def bitext(self) -> Bitext:
        return open_data(self.run.config.data) if self._data is None else self._data

    def read_splits(self, splits: Sequence[str]) -> dict[str, list[SentencePair]]:
        """Reads splits (default: `choose_split`); raises AugenmerkError if one is absent or empty."""
        names = splits or [choose_split(self.bitext, self.run.config.data.validation)]
        opened = {split: self.bitext[split] for split in names}
        pairs = {split: list(opened[split]) for split in opened}
        if empty := [split for split in pairs if not pairs[split]]:
            raise AugenmerkError(f"{self.bitext.name} has no sentence pairs in '{empty[0]}' to score.")
        return pairs

    def sentence_losses(
        self, split: str, pairs: Sequence[SentencePair]
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Returns the losses of a split as `sentence_losses` does, computed the first time only."""
        if split not in self._losses:
            tokenizers, longest = self.translator.tokenizers, self.translator.max_source_length
            data = encode_pairs(
                pairs,
                lambda texts: [ids[:longest] for ids in tokenizers.source.encode_ids(texts)],
                tokenizers.target.encode_ids,
            )
            precision = self.translator.search_settings(precision=self._precision).precision
            models = self.translator.models_in(precision)
            self._losses[split] = sentence_losses(models, self.translator.prepare(data))
        return self._losses[split]

    def evaluate(
        self, splits: Mapping[str, Sequence[SentencePair]], beams: Sequence[int]
    ) -> list[Evaluation]:
        """Evaluates each split with each beam; each row is saved in the run as soon as it is computed."""
        # All settings are checked before anything is translated.
        searches: list[dict[str, Any]] = [
            {"beam": beam, "mbr": self._mbr, "precision": self._precision}
            for beam in dict.fromkeys(beams or [self.run.config.search.beam])
        ]
        for search in searches:
            self.translator.search_settings(**search)
        found = []
        for split, pairs in splits.items():
            references = [pair.target.replace("\n", " ") for pair in pairs]  # one line each in the file
            with self.run.scoring():
                write_lines(reference_path(self.run, split, self.row_labels.get("data")), references)
            data_sha256 = sum_pairs(pairs).sha256
            loss = Loss.of(*self.sentence_losses(split, pairs))
            alignment = {}
            if self._alignment is not None:
                folder = self.run.path / "alignments" / _data_suffix(self.row_labels.get("data"))
                alignment = self._alignment.measure(self.translator, split, pairs, folder, self.on_progress)
            for search in searches:
                what, total = f"{self.name}: {split}, beam {search['beam']}", len(pairs)
                self.on_progress(what, 0, total)
                start = time.perf_counter()
                translations = self.translator.translate(
                    [pair.source for pair in pairs],
                    split_sentences=False,
                    on_progress=partial(_add_total, self.on_progress, what, total),
                    **search,
                )
                seconds = time.perf_counter() - start
                self.on_progress(what, total, total)
                hypotheses = [one.text for one in translations]
                # MBR does not choose by the score of the search, so that score would mislead.
                model_scores = [] if self._mbr else [one.score for one in translations]
                row = {
                    "split": split,
                    "beam": search["beam"],
                    **self.row_labels,
                    **score_texts(hypotheses, references, self.metrics),
                    **({"model_score": sum(model_scores) / len(model_scores)} if model_scores else {}),
                    "loss": loss.mean,
                    "perplexity": loss.perplexity,
                    "word_perplexity": loss.word_perplexity(count_words(pairs)),
                    "tokens": loss.tokens,
                    "sentences": len(pairs),
                    "sentences_per_second": len(pairs) / seconds,
                    **alignment,
                    "model_sha256": self._model_sha256,
                    "data_sha256": data_sha256,
                }
                save_row(self.run, row, hypotheses, model_scores)
                found.append(Evaluation(row, hypotheses, references))
        return found


def _add_total(on_progress: Progress, what: str, total: int, done: int) -> None:
    on_progress(what, done, total)


def choose_split(bitext: Bitext, validation: str) -> str:
    """Returns the validation split or, if the bitext has another split only, that one."""
    return validation if validation in bitext.splits or len(bitext.splits) != 1 else next(iter(bitext.splits))


def evaluate_run(
    evaluator: Evaluator, splits: Sequence[str], beams: Sequence[int] = ()
) -> list[dict[str, Any]]:
    """Returns a row of scores for each split (default: validation) and beam (default: the run's own).

    The run keeps the rows in its scores.json, its translations in `hypotheses`, and links in `alignments` if
    they are asked for. The rows of an ensemble, of MBR, or of another precision or other data than the
    run's own say so, and are kept apart in other_scores.json.
    """
    with evaluator.translator:
        return [evaluation.row for evaluation in evaluator.evaluate(evaluator.read_splits(splits), beams)]


def path_of_row(run: RunDirectory, row: Mapping[str, Any]) -> Path:
    """Returns the file of the translations of a row of scores, one on each line.

    Other settings or data than the run's own have their own file, and so has a copy of another system's
    translations.
    """
    split, data = row.get("split", ""), _data_suffix(row.get("data"))
    if "hypotheses" in row:
        parts = [split, f"file-{_digest(os.fsencode(row['hypotheses']))}", data]
    else:
        ensemble = ""
        if others := row.get("ensemble"):
            # A digest of their paths, because their names may be equal or too long for a file name.
            paths = sorted(os.fsencode(Path(other).resolve()) for other in others)
            digest = _digest(b"\0".join(paths))
            ensemble = f"ensemble-of-{len(others) + 1}-{digest}"
        mbr = "mbr" if row.get("mbr") else ""
        parts = [f"{split}.beam{row.get('beam', 0)}", ensemble, data, mbr, row.get("precision", "")]
    return run.path / HYPOTHESES / f"{'.'.join(filter(None, parts))}.txt"


def hypothesis_path(run: RunDirectory, split: str, beam: int) -> Path:
    """Returns the file of the translations of the run alone."""
    return path_of_row(run, {"split": split, "beam": beam})


def model_score_path(run: RunDirectory, split: str, beam: int) -> Path:
    """Returns the file with the search's score of each translation, one on each line."""
    return hypothesis_path(run, split, beam).with_suffix(".scores")


def reference_path(run: RunDirectory, split: str, data: str | None = None) -> Path:
    """Returns the file of references, which the `sacrebleu` command needs."""
    name = ".".join(filter(None, (split, _data_suffix(data), "reference.txt")))
    return run.path / HYPOTHESES / name


def _data_suffix(data: str | None) -> str:
    """Returns the part of a file name that names other data than the run's own."""
    return "" if data is None else f"data-{_digest(os.fsencode(data))}"


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:8]


def save_row(
    run: RunDirectory, row: Mapping[str, Any], hypotheses: Sequence[str], model_scores: Sequence[float]
) -> None:
    """Writes a row into the run's scores, in place of an earlier one about the same.

    The translations that it is about are written with it, so that they belong together also if two processes
    evaluate the run at once. Rows that are not about the run alone on its own data go into another file. Rows
    about earlier weights of the run or earlier sentences of the split are removed. Raises AugenmerkError if
    the row is about such weights itself.
    """
    is_other, path = not row.keys().isdisjoint(OTHER_LABELS), path_of_row(run, row)
    with run.scoring():
        if row.get("model_sha256") and row["model_sha256"] != run.model_digest:
            raise AugenmerkError(f"{run.path} was trained further meanwhile: evaluate it again afterwards.")
        write_lines(path, hypotheses)
        if model_scores:
            write_lines(path.with_suffix(".scores"), map(repr, model_scores))
        for other in (False, True):
            rows = run.read_scores(other=other)
            kept = [each for each in rows if path_of_row(run, each) != path and not _is_outdated(each, row)]
            new = [*kept, row] if other == is_other else kept
            if new != rows:
                run.write_scores(new, other=other)


def _is_outdated(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    """Returns whether an older row is about other weights, or about other sentences of the same split."""

    def differ(key: str) -> bool:
        return old.get(key) is not None and new.get(key) is not None and old[key] != new[key]

    same_split = (old.get("split"), old.get("data")) == (new.get("split"), new.get("data"))
    return differ("model_sha256") or (same_split and differ("data_sha256"))


def describe_row(run: RunDirectory, row: Mapping[str, Any]) -> str:
    """Returns a readable name for what a row of scores describes: a run, an ensemble, MBR or a file."""
    if "hypotheses" in row:
        return str(row["hypotheses"])
    together = f" with {', '.join(row['ensemble'])}" if "ensemble" in row else ""
    rounded = f" in {row['precision']}" if "precision" in row else ""
    return f"{run.path}{together}{' by MBR' if 'mbr' in row else ''}{rounded}"


# A scored pair as data


def compute_loss(scored: Translation) -> Loss:
    """Returns the loss of a given translation; its tokens include the end of the sentence."""
    tokens = len(scored.hypothesis.token_log_probabilities) if scored.hypothesis else 0
    return Loss(-scored.log_probability, tokens)


class ScoreData(PairData):
    """A scored translation; words and attention only if they were asked for."""

    target: str
    loss: float
    """Per token, end of sentence included."""
    perplexity: float
    word_perplexity: float
    tokens: int


def describe_score(scored: Translation, *, attention: bool = True) -> ScoreData:
    """Returns a scored pair as plain data for JSON."""
    loss, described = compute_loss(scored), scored.to_dict(attention=attention)
    found: ScoreData = {
        "source": scored.source,
        "target": scored.text,
        "log_probability": scored.log_probability,
        "loss": loss.mean,
        "perplexity": loss.perplexity,
        "word_perplexity": loss.word_perplexity(len(scored.target_words)),
        "tokens": loss.tokens,
        "truncated": described["truncated"],
        "uncovered": described["uncovered"],
    }
    words: WordsData = scored.describe_attention() if attention else {}
    return {**found, **words}
