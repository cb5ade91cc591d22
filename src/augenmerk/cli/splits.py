"""A split as a run sees it: what `patterns` and `faithfulness` look at."""

from dataclasses import dataclass
from pathlib import Path

from augenmerk.bitext import Bitext, SentencePair, open_data
from augenmerk.checkpoint import RunDirectory
from augenmerk.cli.terminal import err
from augenmerk.durable import make_folder
from augenmerk.errors import AugenmerkError
from augenmerk.translate import TextTranslator, Translation


@dataclass(frozen=True)
class SplitWish:
    """What was asked for on the command line."""

    run: Path
    split: str | None
    """The run's validation split, if none is named."""
    beam: int | None
    reference: bool
    """Whether the model reads the references instead of translating."""
    out: Path | None
    """A folder for what is drawn."""
    device: str

    def check(self) -> None:
        """Refuses what cannot be meant, before anything is loaded."""
        if self.reference and self.beam is not None:
            raise AugenmerkError("References are read, not searched for; give --reference or --beam.")
        if self.out is not None:
            make_folder(self.out)


@dataclass(frozen=True)
class OpenedSplit:
    """The pairs of a split."""

    bitext: Bitext
    name: str
    pairs: list[SentencePair]

    @classmethod
    def of(cls, wish: SplitWish) -> "OpenedSplit":
        """Complains if it is absent or empty."""
        config = RunDirectory.open(wish.run).config
        bitext = open_data(config.data)
        name = wish.split or config.data.validation
        pairs = list(bitext[name])
        if not pairs:
            raise AugenmerkError(f"{bitext.name} has no sentence pairs in '{name}'.")
        return cls(bitext, name, pairs)

    def attended(self, wish: SplitWish, translator: TextTranslator) -> list[Translation]:
        """What the model looked at, sentence by sentence."""
        with err().status(f"{self.name}: {len(self.pairs):,} sentences"):
            if wish.reference:
                return translator.score_all([(pair.source, pair.target) for pair in self.pairs])
            return translator.translate([pair.source for pair in self.pairs], beam=wish.beam)
