"""What lists of models and runs show of a run."""

from typing import Any

from augenmerk.base.config import RunConfig


def describe_run(config: RunConfig) -> dict[str, Any]:
    """Returns a short description of a run as data for JSON."""
    source, target = config.data.languages
    return {
        "source_language": source,
        "target_language": target,
        "architecture": config.model.architecture,
        "attention": config.model.attention,
        "beam": config.search.beam,
    }
