"""Settings: what is read is what was written, and whatever is wrong is said in one sentence."""

from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import annotated_types
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from augenmerk.base.config import ATTENTIONS, PRESETS, RunConfig, TrainConfig, load_config
from augenmerk.base.errors import AugenmerkError
from augenmerk.base.settings import Settings

GROUPS: dict[str, type[BaseModel]] = {
    name: field.annotation
    for name, field in RunConfig.model_fields.items()
    if isinstance(field.annotation, type)
}


def read(text: str, *overrides: str) -> RunConfig:
    return RunConfig.from_toml(text, "mine.toml", overrides)


def complaint(text: str, *overrides: str) -> str:
    with pytest.raises(AugenmerkError) as caught:
        read(text, *overrides)
    return str(caught.value)


# -- any valid configuration -----------------------------------------------------------------------------


def values(field: FieldInfo) -> st.SearchStrategy[Any]:
    """Everything that a field's own bounds allow."""
    if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
        return groups(field.annotation)
    if get_origin(field.annotation) is Literal:
        return st.sampled_from(get_args(field.annotation))
    bounds: dict[str, Any] = {}
    for bound in field.metadata:
        match bound:
            case annotated_types.Ge(ge):
                bounds["min_value"] = ge
            case annotated_types.Gt(gt):
                bounds |= {"min_value": gt, "exclude_min": True}
            case annotated_types.Le(le):
                bounds["max_value"] = le
            case annotated_types.Lt(lt):
                bounds |= {"max_value": lt, "exclude_max": True}
            case annotated_types.MinLen(length):
                bounds["min_size"] = length
    kinds = {kind: kind is type(None) for kind in get_args(field.annotation) or (field.annotation,)}
    nothing = st.none() if any(kinds.values()) else st.nothing()
    if bool in kinds:
        return st.booleans()
    if str in kinds:
        return nothing | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), **bounds)
    if int in kinds:
        top = bounds.get("max_value", 2**62) - bounds.pop("exclude_max", False)
        return nothing | st.integers(bounds["min_value"], top)
    assert float in kinds
    return st.floats(**bounds, allow_nan=False, allow_infinity=False)


def groups(group: type[BaseModel]) -> st.SearchStrategy[dict[str, Any]]:
    fields = {name: values(field) for name, field in group.model_fields.items()}
    return st.fixed_dictionaries({}, optional=fields)


@st.composite
def configs(draw: st.DrawFn) -> RunConfig:
    tree = {name: draw(groups(group)) for name, group in GROUPS.items()}
    # Fields that are right one by one need not go together.
    if "attention" in tree["model"]:
        tree["model"]["attention"] = draw(st.sampled_from([*ATTENTIONS, "mine.py:Sparsemax"]))
    search = tree["search"]
    search["beam"] = max(2, search.get("beam", 1), search.get("n_best", 1), search.get("candidates") or 1)
    if search.get("candidates"):
        search["mbr"] = True
    transformer = tree["model"].get("architecture") == "transformer"
    if transformer or tree["model"].get("attention") == "multi-head":
        tree["model"]["key"] = 60
        tree["model"]["heads"] = draw(st.sampled_from([1, 3, 5] if transformer else [1, 3, 5, 60]))
    if tree["train"].get("select_by") == "bleu":
        tree["train"]["bleu"] = True
    if tree["model"].get("tie") == "all":
        tree["text"]["joint"] = True
    if tree["text"].get("bpe_dropout"):
        tree["text"]["unit"] = "bpe"
    return RunConfig.model_validate(tree)


@given(config=configs())
@settings(max_examples=60)
def test_what_is_written_is_read_back(config: RunConfig) -> None:
    assert RunConfig.from_toml(config.to_toml(), "mine.toml") == config


one_setting = st.builds(
    "[{}]\n{} = {}\n".format, st.sampled_from(sorted(GROUPS)), st.text("ehlprs_"), st.text(max_size=9)
)


@given(text=st.text(max_size=80) | one_setting)
def test_any_text_gives_a_configuration_or_a_sentence(text: str) -> None:
    said = ""
    try:
        read(text)
    except AugenmerkError as error:
        said = str(error)
    assert not said or (said.startswith("mine.toml: ") and said.endswith("."))


# -- presets ----------------------------------------------------------------------------------------------


def test_every_preset_that_ships_is_known() -> None:
    folder = files("augenmerk") / "presets"
    assert sorted(PRESETS) == sorted(Path(entry.name).stem for entry in folder.iterdir())


@pytest.mark.parametrize("preset", PRESETS)
def test_presets_load_come_back_and_go_with_every_attention(preset: str) -> None:
    config = load_config(preset)
    assert RunConfig.from_toml(config.to_toml(), preset) == config
    assert config.data.bitext == "multi30k"
    for attention in ATTENTIONS:
        assert load_config(preset, [f"model.attention={attention}"]).model.attention == attention


def test_classic_is_the_original() -> None:
    """The settings of the course: whole words seen twice, GRUs of 512, Adam, ten epochs of 128 pairs."""
    classic = load_config("classic")
    assert (classic.text.unit, classic.text.lowercase, classic.text.joint) == ("word", True, False)
    assert classic.text.minimum_frequency == 2
    assert (classic.model.embedding, classic.model.hidden, classic.model.key) == (256, 512, 512)
    assert (classic.model.layers, classic.model.tie) == (1, "none")
    assert (classic.model.attention, classic.model.embedding_dropout) == ("scaled-dot", 0.5)
    assert (classic.train.optimizer, classic.train.lr, classic.train.schedule) == ("adam", 0.001, "constant")
    assert (classic.train.epochs, classic.train.batch_size, classic.train.select_by) == (10, 128, "loss")
    assert (classic.train.label_smoothing, classic.train.clip, classic.train.ema) == (0, 0, 0)
    assert (classic.search.beam, classic.search.max_length) == (1, 50)


# -- files ------------------------------------------------------------------------------------------------


def test_a_file_is_read_and_single_settings_are_put_over_it(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('[model]\nattention = "mean"\nhidden = 64\n', encoding="utf-8-sig")  # with a mark
    config = load_config(str(path), ["model.hidden=16", "model.hidden=32", "train.epochs=2"])
    assert (config.model.attention, config.model.hidden, config.train.epochs) == ("mean", 32, 2)
    generated = read("[data.bilderbuch]\npairs = 7", "data . bilderbuch.seed = 3").data.bilderbuch
    assert (generated.pairs, generated.seed) == (7, 3)
    assert read("", "data.bilderbuch={seed = 4}").data.bilderbuch.seed == 4


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    latin, broken, folder = (tmp_path / f"{name}.toml" for name in ("latin", "broken", "folder"))
    latin.write_bytes(b'[data]\nbitext = "B\xfccher"\n')
    broken.write_text("[train]\nepochs = 3\nlr 0.1\n", encoding="utf-8")
    folder.mkdir()
    for path, words in (
        (tmp_path / "absent.toml", r"absent\.toml.*no such file"),
        (latin, r"latin\.toml.*UTF-8"),
        (broken, r"broken\.toml: not valid TOML .*line 3"),
        (folder, r"folder\.toml.*cannot be read"),
        ("clasic", "no preset called 'clasic': the presets are classic, quick, strong"),
    ):
        with pytest.raises(AugenmerkError, match=words):
            load_config(str(path))
    # Too deep for the parser
    assert complaint("a = " + "[" * 100_000).startswith("mine.toml: not valid TOML")
    assert "data.bitext" in complaint("[data]\nbitext = 3", "data.bilderbuch.pairs=" + "[" * 100_000)


# -- what is refused --------------------------------------------------------------------------------------


def test_unknown_keys_are_refused_at_every_level() -> None:
    for text, override, said in (
        ("[modell]\nhidden = 3", [], "'modell'; known here are data, model, search, text, train."),
        ("[train]\nlearning_rate = 0.1", [], "'train.learning_rate'; known here are accumulate, "),
        ("[data.bilderbuch]\nbook = 2", [], "'data.bilderbuch.book'; known here are pairs, seed."),
        ("", ["data.pairs=3"], "'data.pairs'; known here are bilderbuch, bitext, "),
    ):
        assert complaint(text, *override).startswith(f"mine.toml: unknown key {said}")
    assert complaint("", "train.lr.x=1") == "mine.toml: 'train.lr': input should be a valid number."


class Entry(Settings):
    mean: float


class Published(Settings):
    figures: list[Entry]


class File(Settings):
    published: Published | None = None


@pytest.mark.parametrize(
    ("published", "said"),
    [
        ({"figures": [], "by": 1}, "'published.by'; known here are figures"),
        ({"figures": [{"mean": 1.0}, {"mean": 1.0, "sd": 2.0}]}, "'published.figures.1.sd'; known here are"),
    ],
)
def test_unknown_keys_are_refused_in_optional_groups_and_lists(published: dict[str, Any], said: str) -> None:
    with pytest.raises(AugenmerkError, match=f"mine.toml: unknown key {said}"):
        File.checked({"published": published}, "mine.toml")


@pytest.mark.parametrize(
    ("text", "key", "given"),
    [
        ("[train]\nepochs = true", "train.epochs", "True"),
        ('[train]\nepochs = "10"', "train.epochs", "'10'"),
        ("[train]\nepochs = 10.0", "train.epochs", "10.0"),
        ("[train]\nlr = true", "train.lr", "True"),
        ('[train]\nlr = "fast"', "train.lr", "'fast'"),
        ("[train]\nbleu = 1", "train.bleu", "1"),
        ("[train]\nepochs = [1]", "train.epochs", "[1]"),
        ("[train]\nepochs = 2024-05-27", "train.epochs", "2024"),
        ("[data]\nbitext = 2016", "data.bitext", "2016"),
        ('[model]\nattention = "loud"', "model.attention", "'loud'"),
        ('[train]\nselect_by = "bleurt"', "train.select_by", "'bleurt'"),
    ],
)
def test_wrong_types_are_refused(text: str, key: str, given: str) -> None:
    said = complaint(text)
    assert said.startswith(f"mine.toml: '{key}': ")
    assert given in said


@pytest.mark.parametrize(
    ("setting", "right"),
    [
        ("train.epochs=0", "greater than or equal to 1"),
        ("train.epochs=100001", "less than or equal to 100000"),
        ("train.lr=0", "greater than 0"),
        ("train.lr=nan", "finite"),
        ("train.clip=inf", "finite"),
        ("train.seed=9223372036854775808", "less than"),
        ("model.embedding_dropout=1.0", "less than 1"),
        ("text.vocabulary_size=10", "greater than or equal to 300"),
        ('data.bitext=""', "at least 1 character"),
    ],
)
def test_values_out_of_range_are_refused(setting: str, right: str) -> None:
    said = complaint("", setting)
    assert said.startswith(f"mine.toml: '{setting.partition('=')[0]}': ")
    assert right in said


def test_settings_that_do_not_go_together_are_refused() -> None:
    assert "heads = 4" in complaint('[model]\nattention = "multi-head"\nkey = 6')
    assert "bleu = true" in complaint('[train]\nselect_by = "bleu"\nbleu = false')
    assert "text.joint" in complaint('[model]\ntie = "all"\n[text]\njoint = false')
    assert 'unit = "bpe"' in complaint('[text]\nunit = "word"\nbpe_dropout = 0.1')


def test_a_group_must_be_a_group() -> None:
    for text in ("train = 3", "[[train]]\nepochs = 3"):
        assert "'train' is a group of settings; write [train]" in complaint(text)
    assert "'data.bilderbuch' is a group of settings" in complaint("[data]\nbilderbuch = 3")
    assert "'train' is not a group" in complaint("train = 3", "train.lr=0.1")
    assert "'bitext' is not a group" in complaint('[data]\nbitext = "x"', "data.bitext.seed=1")


def test_settings_cannot_be_changed() -> None:
    config = read("")
    with pytest.raises(ValidationError, match="frozen"):
        config.train = TrainConfig()
    with pytest.raises(ValidationError, match="frozen"):
        config.train.epochs = 3
    assert hash(config) == hash(read(""))


# -- single settings --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("train.epochs=3", 3),
        ("train.epochs=1_000", 1000),
        ("train.lr=2e-3", 0.002),
        ("train.lr=1", 1.0),
        (" train.lr = 0.5 ", 0.5),
        ("train . lr=0.5", 0.5),
        ("train.bleu=false", False),
        ("model.attention=scaled-dot", "scaled-dot"),
        ('model.attention="mean"', "mean"),
        ("model.attention='mean'", "mean"),
        ("data.bitext=my pairs/de-en", "my pairs/de-en"),
        ("data.bitext=  my pairs ", "my pairs"),
        ('data.bitext=" spaced "', " spaced "),
        ('data.bitext="2016"', "2016"),
        ("data.bitext=C:\\new\\pairs", "C:\\new\\pairs"),
        ("data.bitext=a=b", "a=b"),
        ("data.bitext=a\npairs = 3", "a\npairs = 3"),
    ],
)
def test_single_settings(setting: str, value: object) -> None:
    group, _, name = setting.partition("=")[0].partition(".")
    assert getattr(getattr(read("", setting), group.strip()), name.strip()) == value


@pytest.mark.parametrize(
    "setting", ["train.lr", "lr=3", "=3", "train.=3", ".lr=3", "data..seed=3", "data.bilderbuch.=3", ""]
)
def test_what_is_not_a_setting(setting: str) -> None:
    assert complaint("", setting) == f"'{setting}' is not a setting: expected something like train.lr=0.002."
