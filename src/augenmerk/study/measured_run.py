"""A run that is trained, scored and probed, as its study reads it."""

import hashlib
import math
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from augenmerk.base.errors import AugenmerkError
from augenmerk.base.files import read_text
from augenmerk.evaluation.evaluator import hypothesis_path, model_score_path, reference_path
from augenmerk.evaluation.metrics import Counts, bleu_from_counts, count_bleu, ratio_from_counts
from augenmerk.run.directory import RunDirectory
from augenmerk.study.compare import TranslatedSplit
from augenmerk.study.measure import read_probes
from augenmerk.study.plan import PlannedRun, Study
from augenmerk.text.words import split_words


class Vocabulary(NamedTuple):
    """The units in which a run's loss is counted."""

    subwords: bool
    lowercase: bool
    digest: str


@dataclass(frozen=True)
class MeasuredRun:
    """A run that is trained, scored and probed. Each of its files is read once."""

    study: Study
    planned: PlannedRun
    run: RunDirectory

    @cached_property
    def result(self) -> dict[str, Any]:
        return self.run.result or {}

    @cached_property
    def metrics(self) -> list[dict[str, Any]]:
        return self.run.read_metrics()

    @cached_property
    def probes(self) -> dict[str, Any]:
        return read_probes(self.run) or {}

    @cached_property
    def rows(self) -> dict[tuple[str, int], dict[str, Any]]:
        return {(row["split"], row["beam"]): row for row in self.run.read_scores()}

    @cached_property
    def losses(self) -> dict[str, Counts]:
        """By split (N, 2): for each sentence the sum over its tokens, and the number of its words."""
        found = {}
        for split in self.study.splits:
            references = _read_lines(reference_path(self.run, split))
            words = [len(split_words(line)) + 1 for line in references]  # with the end of the sentence
            found[split] = np.array([self.probes["losses"][split]["sums"], words], np.float64).T
        return found

    @cached_property
    def vocabulary(self) -> Vocabulary:
        target = self.run.tokenizers.target
        tokens = "\n".join(map(target.token, range(target.size)))
        digest = hashlib.sha256(tokens.encode("utf-8", "surrogatepass")).hexdigest()
        return Vocabulary(target.is_bpe, target.lowercase, digest)

    @cached_property
    def translated(self) -> dict[tuple[str, int], TranslatedSplit]:
        """The translations by split and beam, with their n-gram counts."""
        return {each: self._read_translated(*each) for each in product(self.study.splits, self.study.beams)}

    def measure(self, measure: str, split: str | None, beam: int | None) -> Any:
        """Returns a value, or None where there is none; only some measures depend on a split or a beam."""
        if split is None:
            return self.result.get(measure)
        if measure == "alignment_error":
            return self.probes[measure][split]
        if measure == "word_loss":
            return float(ratio_from_counts(self.losses[split].sum(0)))
        return self.rows[split, beam or self.study.beams[0]].get(measure)

    def _read_translated(self, split: str, beam: int) -> TranslatedSplit:
        hypotheses = _read_lines(hypothesis_path(self.run, split, beam))
        counts = count_bleu(hypotheses, _read_lines(reference_path(self.run, split)))
        row, where = self.rows[split, beam], f"'{split}', beam {beam}"
        if not math.isclose(float(bleu_from_counts(counts.sum(0))), row["bleu"], abs_tol=1e-6):
            raise AugenmerkError(
                f"{self.run.path}: the hypotheses for {where} are not those that were scored."
            )
        scores = [float(line) for line in _read_lines(model_score_path(self.run, split, beam))]
        if not len(scores) == len(self.losses[split]) == len(hypotheses):
            raise AugenmerkError(
                f"{self.run.path}: there are {len(hypotheses)} hypotheses for {where}, but {len(scores)} "
                f"scores and {len(self.losses[split])} losses."
            )
        return TranslatedSplit(row, counts, hypotheses, scores)


def _read_lines(path: Path) -> list[str]:
    return read_text(path).split("\n")[:-1]
