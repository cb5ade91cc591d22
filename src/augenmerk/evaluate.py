"""How good a model is: loss and perplexity of given translations, and scores of its own.

Loss is the mean over all real target tokens of a split, end of sentence included, of the negative natural
logarithm of their probability. It is summed over the whole split before it is divided, so batches of
different size weigh what they should. Perplexity is its exponential.

Both depend on what a token is: splitting text more finely makes each token easier. `word_perplexity`
divides the same sum by the number of words (`augenmerk.words`) and sentence ends instead, so models
with different vocabularies can be compared; only not where words were replaced by <unk>, which is
cheaper to guess than they were.
"""

import hashlib
import math
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from augenmerk.agreement import Agreement
from augenmerk.batching import ParallelTokens, TokenTable, encode_pairs
from augenmerk.bitext import Bitext, SentencePair, open_bitext
from augenmerk.checkpoint import RunDirectory
from augenmerk.config import DataConfig, RunConfig, SearchConfig
from augenmerk.errors import AugenmerkError
from augenmerk.model.translator import Translator
from augenmerk.scores import compute_bleu, score_texts
from augenmerk.search import mean_of_probabilities
from augenmerk.storage import write_lines
from augenmerk.text import TokenizerPair
from augenmerk.translate import Models, TextTranslator, hypotheses_of, least_risk, load_members, members
from augenmerk.words import split_words

BATCH_SIZE = 128
CHUNK = 256
"""Sentences that are translated between two reports of progress."""

Progress = Callable[[str, int, int], None]
"""Is told what is being translated, how many sentences of it are, and how many there are in all."""


def tell_nobody(_what: str, _done: int, _total: int) -> None:
    """No progress is shown."""


def open_data(config: DataConfig) -> Bitext:
    """The bitext of a run."""
    return open_bitext(
        config.bitext,
        pairs=config.pairs,
        seed=config.book,
        source_language=config.source_language,
        target_language=config.target_language,
    )


@dataclass(frozen=True)
class Loss:
    """A sum over a split, and what it can be divided by."""

    total: float
    """Negative log-probability of all target tokens, in nats."""
    tokens: int
    """Real target tokens, ends of sentences included."""

    @classmethod
    def over(cls, sums: Tensor, tokens: Tensor) -> "Loss":
        """Returns the loss over the sentences of `sentence_losses`."""
        return cls(float(sums.sum()), int(tokens.sum()))

    @property
    def mean(self) -> float:
        return self.total / self.tokens

    @property
    def perplexity(self) -> float:
        return exp(self.mean)

    def word_perplexity(self, words: int) -> float:
        """Per word, given how many `count_words` counts."""
        return exp(self.total / words)


def exp(x: float) -> float:
    """Infinity instead of an error: a model can be that bad."""
    return math.exp(x) if x < 700 else math.inf


def count_words(pairs: Iterable[SentencePair]) -> int:
    """Words of the targets, and one end for each sentence."""
    return sum(len(split_words(pair.target)) + 1 for pair in pairs)


def measure_loss(model: Models, data: ParallelTokens, batch_size: int = BATCH_SIZE) -> Loss:
    """In fp32 and without dropout, whatever the model was trained in."""
    return Loss.over(*sentence_losses(model, data, batch_size))


@torch.inference_mode()
def sentence_losses(
    model: Models, data: ParallelTokens, batch_size: int = BATCH_SIZE
) -> tuple[Tensor, Tensor]:
    """The terms of `measure_loss`: of each sentence the sum over its target tokens, in nats, and how many
    they are; both on the CPU."""
    were_training = [member.training for member in members(model)]
    for member in members(model):
        member.eval()
    sums = torch.zeros(len(data), dtype=torch.float64, device=data.source.flat.device)
    for batch in data.batches(data.plan(batch_size, shuffle=False)):
        log_probs = []
        for member in members(model):
            features, _ = member.decode(batch.tgt_in, member.encode(batch.src, batch.src_mask))
            logits = member.output(features[batch.tgt_mask])  # (real tokens, vocabulary)
            log_probs.append(
                -nn.functional.cross_entropy(logits, batch.tgt_out[batch.tgt_mask], reduction="none")
            )
        terms = torch.zeros_like(batch.tgt_mask, dtype=torch.float64)
        terms[batch.tgt_mask] = -mean_of_probabilities(log_probs).double()
        sums[batch.indices.to(sums.device)] = terms.sum(1)
    for member, was_training in zip(members(model), were_training, strict=True):
        member.train(was_training)
    return sums.cpu(), torch.from_numpy(data.target.lengths + 1)


def measure_bleu(
    model: Translator,
    tokenizers: TokenizerPair,
    sources: TokenTable,
    references: Sequence[str],
    search: SearchConfig,
) -> float:
    """BLEU of sacrebleu (13a) on detokenised text; lowercased if the model's own text is."""
    hypotheses = hypotheses_of(model, sources, search)
    texts = tokenizers.target.decode_batch(best[0].ids for best in hypotheses)
    return compute_bleu(texts, references, lowercase=tokenizers.target.lowercase)


def evaluate_run(
    run: RunDirectory,
    splits: Sequence[str],
    device: torch.device,
    *,
    beams: Sequence[int] = (),
    others: Sequence[RunDirectory] = (),
    mbr: bool = False,
    ter: bool = False,
    alignment: Agreement | None = None,
    progress: Progress = tell_nobody,
) -> list[dict[str, Any]]:
    """A row of scores for each split (if none is named, validation) and beam (if none is, the run's own).

    The run keeps the rows in its scores.json, what was scored in `hypotheses`, and links in `alignments` if
    these are asked for. In an ensemble with `others`, or by MBR over the list of each beam, the rows say so
    and are kept apart, in other_scores.json.
    """
    evaluator = Evaluator(
        run, device, others=others, mbr=mbr, ter=ter, alignment=alignment, progress=progress
    )
    return [evaluation.row for evaluation in evaluator.evaluate(evaluator.read(splits), beams)]


@dataclass(frozen=True)
class Evaluation:
    """One split translated with one beam: its row of scores, and what was scored."""

    row: dict[str, Any]
    hypotheses: list[str]
    references: list[str]


class Evaluator:
    """A run with its model loaded, to be measured: alone, or in an ensemble with others."""

    def __init__(
        self,
        run: RunDirectory,
        device: torch.device,
        *,
        others: Sequence[RunDirectory] = (),
        mbr: bool = False,
        ter: bool = False,
        alignment: Agreement | None = None,
        progress: Progress = tell_nobody,
    ) -> None:
        self.run = run
        self._mbr = mbr
        self._how = {  # what rows say of themselves, unless it is one run by search
            **({"ensemble": [str(other.path) for other in others]} if others else {}),
            **({"mbr": True} if mbr else {}),
        }
        self._device = device
        self._ter = ter
        self._alignment = alignment
        self._progress = progress
        self._codec = run.tokenizers
        self._models = load_members([run, *others], device)
        self._losses: dict[str, tuple[Tensor, Tensor]] = {}

    @cached_property
    def bitext(self) -> Bitext:
        return open_data(self.run.config.data)

    @cached_property
    def translator(self) -> TextTranslator:
        """Translates with the models that are loaded here."""
        return TextTranslator(self._models, self._codec, self.run.config)

    def sentence_losses(self, split: str, pairs: Sequence[SentencePair]) -> tuple[Tensor, Tensor]:
        """Returns `sentence_losses` of the pairs of a split, which are computed once for each split."""
        if split not in self._losses:
            source, target = self._codec.source, self._codec.target
            data = encode_pairs(pairs, source.encode_ids, target.encode_ids)
            self._losses[split] = sentence_losses(self._models, data.to(self._device))
        return self._losses[split]

    @property
    def name(self) -> str:
        """Of what is measured, for people."""
        return name_of(self.run, self._how)

    def read(self, splits: Sequence[str]) -> dict[str, list[SentencePair]]:
        """The pairs of these splits, or of the validation split; complains if one is absent or empty."""
        opened = {split: self.bitext[split] for split in splits or [self.run.config.data.validation]}
        pairs = {split: list(opened[split]) for split in opened}
        for split in pairs:
            if not pairs[split]:
                raise AugenmerkError(
                    f"{self.bitext.name} has no sentence pairs in '{split}' that could be scored."
                )
        return pairs

    def evaluate(
        self, splits: Mapping[str, Sequence[SentencePair]], beams: Sequence[int]
    ) -> list[Evaluation]:
        """Each row is kept as soon as it is there: who stops halfway has half."""
        searches = [self._search(beam) for beam in dict.fromkeys(beams or [self.run.config.search.beam])]
        if self._mbr and any(search.beam == 1 for search in searches):
            raise AugenmerkError("MBR cannot choose from the one hypothesis of a beam of 1: give --beam 10.")
        found = []
        for split, pairs in splits.items():
            references = [pair.target.replace("\n", " ") for pair in pairs]  # a line each, as in the file
            write_lines(reference_path(self.run, split), references)
            loss = Loss.over(*self.sentence_losses(split, pairs))
            aligned = self._align(split, pairs)
            for search in searches:
                hypotheses, model_scores, seconds = self._translate(split, pairs, search)
                row = {
                    "split": split,
                    "beam": search.beam,
                    **self._how,
                    **score_texts(hypotheses, references, ter=self._ter),
                    **({"model_score": sum(model_scores) / len(model_scores)} if model_scores else {}),
                    "loss": loss.mean,
                    "perplexity": loss.perplexity,
                    "word_perplexity": loss.word_perplexity(count_words(pairs)),
                    "tokens": loss.tokens,
                    "sentences": len(pairs),
                    "sentences_per_second": len(pairs) / seconds,
                    **aligned,
                }
                path = path_of_row(self.run, row)
                write_lines(path, hypotheses)
                if model_scores:
                    write_lines(path.with_suffix(".scores"), map(repr, model_scores))
                _keep(self.run, row)
                found.append(Evaluation(row, hypotheses, references))
        return found

    def _align(self, split: str, pairs: Sequence[SentencePair]) -> dict[str, Any]:
        if self._alignment is None:
            return {}
        folder = self.run.path / "alignments"
        return self._alignment.measure(self.translator, split, pairs, folder, self._progress)

    def _search(self, beam: int) -> SearchConfig:
        tree = self.run.config.model_dump(exclude_none=True)
        tree["search"]["beam"] = beam
        return RunConfig.checked(tree, "--beam").search

    def _translate(
        self, split: str, pairs: Sequence[SentencePair], search: SearchConfig
    ) -> tuple[list[str], list[float], float]:
        """Detokenised translations of the sources, the scores that the search gave them (none with MBR, which
        chooses by others), and how many seconds it took to find them."""
        what = f"{self.name}: {split}, beam {search.beam}"
        sources = self._codec.source.encode_ids([pair.source for pair in pairs])
        order = sorted(range(len(pairs)), key=lambda i: len(sources[i]))  # similar lengths in one chunk
        texts, scores, seconds = [""] * len(pairs), [0.0] * len(pairs), 0.0
        for start in range(0, len(order), CHUNK):
            self._progress(what, start, len(order))
            chunk = order[start : start + CHUNK]
            table = TokenTable.of(sources[i] for i in chunk).to(self._device)
            began = time.perf_counter()
            found = self._best(table, search)
            seconds += time.perf_counter() - began
            for i, (text, score) in zip(chunk, found, strict=True):
                texts[i], scores[i] = text, score
        self._progress(what, len(order), len(order))
        return texts, [] if self._mbr else scores, seconds

    def _best(self, table: TokenTable, search: SearchConfig) -> list[tuple[str, float]]:
        target = self._codec.target
        if not self._mbr:
            best = [each[0] for each in hypotheses_of(self._models, table, search)]
            texts = target.decode_batch(each.ids for each in best)
            return [(text, each.score) for text, each in zip(texts, best, strict=True)]
        found = [hypotheses_of(model, table, search, n_best=search.beam) for model in self._models]
        return [(least_risk(lists, target)[0].text, 0.0) for lists in zip(*found, strict=True)]


def hypothesis_path(
    run: RunDirectory, split: str, beam: int, others: Sequence[str] = (), mbr: bool = False
) -> Path:
    """A translation on each line, in the order of the split; of an ensemble, or by MBR, a file of its own."""
    name = f"{split}.beam{beam}"
    if others:
        # Which others, in few letters: their names may be the same, or too long for a file.
        places = sorted(os.fsencode(Path(other).resolve()) for other in others)
        digest = hashlib.sha256(b"\0".join(places)).hexdigest()[:8]
        name += f".ensemble-of-{len(others) + 1}-{digest}"
    return run.path / "hypotheses" / f"{name}{'.mbr' if mbr else ''}.txt"


def model_score_path(run: RunDirectory, split: str, beam: int) -> Path:
    """On each line the score that the search gave to that translation: see `Hypothesis.score`."""
    return hypothesis_path(run, split, beam).with_suffix(".scores")


def reference_path(run: RunDirectory, split: str) -> Path:
    """What the translations were compared with: the `sacrebleu` command asks for a file."""
    return run.path / "hypotheses" / f"{split}.reference.txt"


def _keep(run: RunDirectory, row: Mapping[str, Any]) -> None:
    """In the run's scores, in place of an earlier row of the same split and beam (of the same ensemble).

    Other scores than those of the run by itself and by search go into a file of their own.
    """
    other = "ensemble" in row or "mbr" in row
    kept = [each for each in run.read_scores(other=other) if path_of_row(run, each) != path_of_row(run, row)]
    run.write_scores([*kept, row], other=other)


def name_of(run: RunDirectory, row: Mapping[str, Any]) -> str:
    """What a row is about, for people."""
    together = f" with {', '.join(row['ensemble'])}" if "ensemble" in row else ""
    return f"{run.path}{together}{' by MBR' if 'mbr' in row else ''}"


def path_of_row(run: RunDirectory, row: Mapping[str, Any]) -> Path:
    """Where the translations are that a row is about."""
    return hypothesis_path(
        run, row.get("split", ""), row.get("beam", 0), row.get("ensemble", ()), row.get("mbr", False)
    )
