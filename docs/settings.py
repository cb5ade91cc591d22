"""Writes docs/reference/settings.md: every setting of a run, from the fields and descriptions in the code.

python docs/settings.py
"""

from collections.abc import Iterator
from itertools import groupby
from operator import attrgetter
from pathlib import Path

from augenmerk.base.config import PRESETS, RunConfig, load_config
from augenmerk.base.settings import Setting, Settings, format_value, list_settings

PAGE = Path(__file__).resolve().parent / "reference" / "settings.md"

BEGINNING = """# Settings

Every setting of a run, with what the presets make of it; where a preset says nothing, it has the default.
This page is written by `python docs/settings.py`; the same is said by:

```sh
augenmerk config list                      # all settings; `config list train` for some
augenmerk config show quick                # a preset, as a TOML file with explanations
augenmerk config show quick > mine.toml    # the beginning of your own file
augenmerk config show runs/mine            # the settings of a run
```

One setting is changed with `--set`, as often as needed: `augenmerk train quick --set train.lr=0.002 --set
model.hidden=128`. Your own file holds only what differs from the defaults:

```toml
[data]
bitext = "pairs.tsv"

[model]
attention = "additive"
hidden = 256

[train]
epochs = 8
lr = 0.002
```

`augenmerk train mine.toml` trains it. An unknown key, a wrong type or a number out of bounds is refused with
a sentence that names the key. A run keeps all of its settings, defaults included, in its `config.toml`
([the run directory](run-directory.md)).
"""

EXPLANATIONS = {
    "model": """The letters are those of the equations at the top of
[`translator.py`](../../src/augenmerk/model/gru.py): z_t and b_i are the embeddings of a source and a
target word, hf_t and hb_t the states of the GRUs that read the source forwards and backwards, h_t the two of
them together, which represents a source word, and g_i the state of the decoder. Mechanisms:
[training.md](../guides/training.md#attention-mechanisms), and [your own](../guides/own-mechanism.md).
"""
}
"""What the page says about a group beyond its description."""


def render_page() -> str:
    presets = {name: load_config(name) for name in PRESETS}
    return BEGINNING + "".join(
        section
        for group, settings in groupby(list_settings(RunConfig()), key=lambda setting: setting.group)
        for section in _render_group(group, list(settings), presets)
    )


def _render_group(group: str, settings: list[Setting], presets: dict[str, RunConfig]) -> Iterator[str]:
    config = attrgetter(group)(RunConfig())
    assert isinstance(config, Settings)
    meaning = " ".join((type(config).__doc__ or "").split())
    yield f"\n## [{group}]\n\n{meaning}\n\n"
    if group in EXPLANATIONS:
        yield f"{EXPLANATIONS[group]}\n"
    yield f"| setting | what it means | values | default | {' | '.join(presets)} |\n"
    yield f"|---|---|---|---|{'---|' * len(presets)}\n"
    for setting in settings:
        key = setting.name.rpartition(".")[2]
        values = ", ".join(f"`{choice}`" for choice in setting.choices)
        values = (
            values if setting.type == "choice" else f"{setting.type}: {values}" if values else setting.type
        )
        of_presets = (attrgetter(setting.name)(preset) for preset in presets.values())
        shown = " | ".join("" if value == setting.default else _code(value) for value in of_presets)
        yield f"| `{key}` | {setting.meaning} | {values} | {_code(setting.default)} | {shown} |\n"


def _code(value: object) -> str:
    return "" if value is None else f"`{format_value(value)}`"


if __name__ == "__main__":
    PAGE.write_text(render_page(), encoding="utf-8")
