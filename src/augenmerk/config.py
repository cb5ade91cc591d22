"""What a run is: every setting, documented field by field, frozen, with unknown keys refused."""

from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator


class Settings(BaseModel):
    """A group of settings that cannot be changed after it was read, and has no key we do not know."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class TextConfig(Settings):
    """How sentences become ids."""

    unit: Literal["word", "bpe"] = "bpe"
    """Whole words, or subwords by byte-pair encoding."""
    lowercase: bool = False
    """Whether case is given up before anything else happens."""
    joint: bool = True
    """One vocabulary for both languages, or one for each. Words are best kept separate."""
    vocabulary_size: int = Field(default=8000, ge=300, le=1_000_000)
    """How many entries a vocabulary may have, special ones included."""
    minimum_frequency: int = Field(default=1, ge=1)
    """Words seen less often in training become unknown; with BPE, pairs seen less often are not merged."""
    bpe_dropout: float = Field(default=0.0, ge=0.0, lt=1.0)
    """Chance that a merge is left out when a training sentence is split into subwords."""

    @model_validator(mode="after")
    def _dropout_needs_subwords(self) -> Self:
        if self.unit == "word" and self.bpe_dropout:
            raise ValueError("bpe_dropout needs unit 'bpe': whole words have no merges to leave out")
        return self
