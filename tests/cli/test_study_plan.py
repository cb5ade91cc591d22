"""What a study's file declares, and what is said about one that is wrong."""

from pathlib import Path

import pytest

from augenmerk.base.config import ATTENTIONS, load_config
from augenmerk.base.errors import AugenmerkError
from augenmerk.model.interface import build_model
from augenmerk.study.plan import BUNDLED_STUDIES, Study, find_study, read_study
from tests.support.command import fails_with_a_sentence, run_command, run_json

LEAST = 'question = "Is it?"\nseeds = [1]\n'
MEAN = '[factors]\nattention = ["mean"]\n'
PUBLISHED = LEAST + MEAN + '[published]\nsource = "x"\n[[published.figures]]\nmean = 1.0\n'


def declared(tmp_path: Path, text: str) -> Study:
    path = tmp_path / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return read_study(path)


def test_factors_are_multiplied_out_and_seeds_come_first(tmp_path: Path) -> None:
    study = declared(
        tmp_path,
        'question = "Is it?"\nbase = "quick"\nseeds = [3, 1]\nbeams = [1, 5]\n'
        '[settings]\n"train.epochs" = 2\nmodel.key = 8\n'
        '[factors]\nattention = ["mean", "dot"]\ntrain.lr = [0.1, 0.01]\n',
    )
    assert study.name == "mine"
    assert study.factors == ("model.attention", "train.lr")
    names = ["mean, lr=0.1", "mean, lr=0.01", "dot, lr=0.1", "dot, lr=0.01"]
    assert [variant.name for variant in study.variants] == names
    assert [(run.seed, run.variant.name) for run in study.runs] == [(s, n) for s in (3, 1) for n in names]
    assert len({run.path for run in study.runs}) == 8
    run = study.runs[-1]
    assert run.path == Path("runs/dot-lr=0.01/seed-1")
    settings = ["model.attention=dot", "train.lr=0.01", "train.seed=1", "train.epochs=2", "model.key=8"]
    assert run.config == load_config("quick", settings)
    assert study.splits == ("val",)  # of the settings, as none is named
    assert study.beams == (1, 5)


TWO = '[factors]\nattention = ["mean", "dot", "none"]\n"model.hidden" = [8, 16]\n'


def list_contrasts(study: Study) -> list[tuple[str, str, str]]:
    return [(each.question, each.variant, each.against) for each in study.contrasts]


def test_each_variant_is_compared_with_the_baseline(tmp_path: Path) -> None:
    factors = '[factors]\nattention = ["mean", "dot", "none"]\n"model.hidden" = [8]\n'
    study = declared(tmp_path, LEAST + factors)
    assert study.baseline == "mean, hidden=8"
    assert list_contrasts(study) == [
        ("Is it?", f"{name}, hidden=8", "mean, hidden=8") for name in ("dot", "none")
    ]
    assert study.contrasts[1].weights == {"none, hidden=8": 1, "mean, hidden=8": -1}
    other = declared(tmp_path, LEAST + 'baseline = "none, hidden=8"\n' + factors)
    assert [(each.variant, each.against) for each in other.contrasts] == [
        (f"{name}, hidden=8", "none, hidden=8") for name in ("mean", "dot")
    ]
    assert declared(tmp_path, LEAST + factors + "[contrasts]\n").contrasts == ()


def test_two_factors_have_main_effects_and_an_interaction(tmp_path: Path) -> None:
    study, interaction = declared(tmp_path, LEAST + TWO), "Does the effect of attention depend on hidden?"
    assert list_contrasts(study) == [
        *(("Does attention matter?", name, "mean (averaged over hidden)") for name in ("dot", "none")),
        ("Does hidden matter?", "hidden=16", "hidden=8 (averaged over attention)"),
        *((interaction, f"{name} − mean with hidden=16", "that with hidden=8") for name in ("dot", "none")),
    ]
    main, _, _, joint, _ = (each.weights for each in study.contrasts)
    assert main == {
        **{"dot, hidden=8": 0.5, "dot, hidden=16": 0.5},
        **{"mean, hidden=8": -0.5, "mean, hidden=16": -0.5},
    }
    assert joint == {"dot, hidden=16": 1, "mean, hidden=16": -1, "dot, hidden=8": -1, "mean, hidden=8": 1}


def test_a_study_declares_what_it_wants_to_know(tmp_path: Path) -> None:
    study = declared(
        tmp_path,
        LEAST + TWO + '[contrasts]\n"Wider?" = "hidden at each attention"\n"Any?" = "attention"\n'
        '"Each?" = "attention at each hidden"\n'
        '"Both?" = "hidden x attention"\n'
        '"Dot?" = { "dot, hidden=8" = 1, "mean, hidden=8" = -0.5, "none, hidden=8" = -0.5 }\n'
        '"More?" = { "dot, hidden=16" = 2, "none, hidden=8" = -1, "mean, hidden=8" = -1 }\n',
    )
    found = list_contrasts(study)
    assert found[:3] == [
        ("Wider?", f"{name}, hidden=16", f"{name}, hidden=8") for name in ("mean", "dot", "none")
    ]
    assert [question for question, *_ in found[3:]] == [
        *(["Any?"] * 2 + ["Each?"] * 4 + ["Both?"] * 2),
        *("Dot?", "More?"),
    ]
    assert found[5:9] == [
        ("Each?", f"{name}, hidden={size}", f"mean, hidden={size}")
        for size in (8, 16)
        for name in ("dot", "none")
    ]
    assert found[-2:] == [
        ("Dot?", "dot, hidden=8", "the mean of mean, hidden=8 and none, hidden=8"),
        ("More?", "2 dot, hidden=16", "none, hidden=8 + mean, hidden=8"),
    ]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('baseline = "max"\n', "baseline names 'max', but the variants are mean, hidden=8"),
        ('[contrasts]\n"Q?" = "lr"\n', "[contrasts] “Q?”: 'lr' is not a factor to compare by; write one"),
        ('[contrasts]\n"Q?" = "hidden x hidden"\n', "'hidden' is not a factor to compare by"),
        ('[contrasts]\n"Q?" = "hidden at each lr"\n', "'lr' is not a factor to compare by"),
        ('[contrasts]\n"Q?" = { max = 1, min = -1 }\n', "the variants are mean, hidden=8,"),
        ('[contrasts]\n"Q?" = { "dot, hidden=8" = 1 }\n', "weights of variants that sum to 0"),
        ('[contrasts]\n"Q?" = { "dot, hidden=8" = 1, "dot, hidden=16" = -0.9 }\n', "that sum to 0"),
        ('[contrasts]\n"Q?" = { "dot, hidden=8" = "x" }\n', "write a factor, or weights of variants"),
        ('[contrasts]\n"Q?" = 3\n', "write a factor, or weights of variants that sum to 0, such as { a = 1"),
        ('[contrasts]\n"Q?" = { "dot, hidden=8" = inf, "dot, hidden=16" = -inf }\n', "write a factor"),
        (f'[contrasts]\n"Q?" = {{"dot, hidden=8" = 1{"0" * 400}, "none, hidden=8" = -1 }}', "write a factor"),
    ],
)
def test_contrasts_that_mean_nothing_are_refused(tmp_path: Path, text: str, complaint: str) -> None:
    before, after = (text, "") if text.startswith("baseline") else ("", text)
    with pytest.raises(AugenmerkError) as raised:
        declared(tmp_path, LEAST + before + TWO + after)
    assert complaint in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_table_may_be_a_value_of_a_factor(tmp_path: Path) -> None:
    factors = '[factors]\n"model.transformer" = [{ feed_forward = 64 }, { feed_forward = 128 }]\n'
    study = declared(tmp_path, LEAST + factors)
    assert len(study.variants) == 2
    assert [sorted(each.weights.values()) for each in study.contrasts] == [[-1, 1]]


def test_a_base_may_be_a_file_beside_the_study_and_settings_of_a_dataset_are_varied(tmp_path: Path) -> None:
    (tmp_path / "base.toml").write_text("[data.bilderbuch]\nseed = 9\n")
    study = declared(
        tmp_path,
        LEAST + 'base = "base.toml"\n[settings.data.bilderbuch]\npairs = 50\n'
        "[factors.data.bilderbuch]\npairs = [60, 70]\n",
    )
    generated = [run.config.data.bilderbuch for run in study.runs]
    assert [(each.pairs, each.seed) for each in generated] == [(60, 9), (70, 9)]
    assert study.factors == ("data.bilderbuch.pairs",)


def test_where_data_is_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pairs").mkdir()
    monkeypatch.chdir(tmp_path)
    study = declared(tmp_path, LEAST + '[settings.data]\nbitext = "pairs"\n[factors]\nattention = ["mean"]\n')
    assert study.runs[0].config.data.bitext == str(tmp_path / "pairs")
    here, beside = tmp_path / "here", tmp_path / "beside"
    for folder in (here, beside):
        folder.mkdir()
    for place in (here / "both.tsv", beside / "both.tsv", here / "only.tsv"):
        place.write_text("a\tb\n", encoding="utf-8")
    monkeypatch.chdir(here)
    text = LEAST + '[factors]\n"data.bitext" = ["both.tsv", "only.tsv", "none.tsv", "bilderbuch"]\n'
    found = [run.config.data.bitext for run in declared(beside, text).runs]
    assert found == [str(beside / "both.tsv"), str(here / "only.tsv"), "none.tsv", "bilderbuch"]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (LEAST + "[settings]\nlr = 0.5\n" + MEAN, "'lr' is not in a group of settings; a setting is"),
        ("seeds = [1]\n" + MEAN, "'question': field required"),
        ('question = "?"\nseeds = []\n' + MEAN, "'seeds'"),
        ('question = "?"\nseeds = [1, 1]\n' + MEAN, "seeds names 1 twice"),
        (LEAST + "[factors]\n", "name a factor, such as attention"),
        (LEAST + "[factors]\nattention = []\n", "'model.attention' needs a list of values"),
        (LEAST + '[factors]\nattention = "mean"\n', "'model.attention' needs a list of values"),
        (LEAST + '[factors]\nattention = ["mean", "mean"]\n', "has a value twice"),
        (LEAST + '[factors]\nattention = ["mean", "median"]\n', "mine.toml: median: 'model.attention'"),
        (LEAST + "[factors]\ntrain.seed = [1, 2]\n", "name the seeds as seeds = [1, 2, 3]"),
        (LEAST + "[factors]\nsearch.beam = [1, 2]\n", "name the beams as beams = [1, 5]"),
        (LEAST + "[factors]\nwidth = [1, 2]\n", "'width' is not in a group of settings"),
        (LEAST + "[factors]\ntrain.rate = [1, 2]\n", "unknown key 'train.rate'; known here are accumulate"),
        (LEAST + "[factors]\ntrain.lr = [1e-3]\n[settings]\nepochs = 3\n", "such as [settings.train]"),
        (LEAST + 'base = "quick"\n[settings.data.bitext]\nseed = 3\n' + MEAN, "'bitext' is not a group of"),
        (LEAST + 'base = "slow"\n' + MEAN, "There is no preset called"),
        (LEAST + 'splits = ["a", "a"]\n' + MEAN, "splits names 'a' twice"),
        (LEAST + "colour = 1\n" + MEAN, "unknown key 'colour'; known here are base"),
        (LEAST + '[factors]\ndata.bitext = ["a/b", "a b"]\n', "both be kept in a folder called 'bitext=a-b'"),
        (PUBLISHED + 'variant = "none"\nmeasure = "bleu"', "published names 'none', but the variants"),
        (PUBLISHED + 'variant = "mean"\nmeasure = "blue"', "'blue' is not a measure; measures are bleu"),
        ("question = ", "not valid TOML"),
        (
            LEAST + "[factors]\n" + "".join(f"train.x{i} = [1, 2]\n" for i in range(20_000)),
            "over 10,000 runs",
        ),
        (LEAST + f"[factors]\ntrain.epochs = {list(range(100_000))}\n", "over 10,000 runs"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(AugenmerkError) as raised:
        declared(tmp_path, text)
    assert complaint in str(raised.value)
    assert "\n" not in str(raised.value)


def test_folders_of_variants_with_long_names(tmp_path: Path) -> None:
    places = [f"{'ä' * 100}/{'b' * 150}/{number}" for number in range(3)]
    study = declared(tmp_path, LEAST + f"[factors]\nattention = ['mean']\ndata.bitext = {places}\n")
    folders = {variant.folder for variant in study.variants}
    assert len(folders) == 3
    assert all(len(folder.encode()) <= 200 for folder in folders)


def test_the_studies_that_are_shipped_ask_what_they_say() -> None:
    studies = {name: read_study(find_study(name)) for name in BUNDLED_STUDIES}
    both = {run.config.model.architecture: run.config.model for run in studies["architecture"].runs}
    sizes = {
        name: sum(part.numel() for part in build_model(model, 1753, 1299).parameters())
        for name, model in both.items()
    }
    assert abs(sizes["gru"] - sizes["transformer"]) < 0.03 * sizes["gru"]  # with the words of bilderbuch
    attention = studies["attention"]
    assert [variant.name for variant in attention.variants] == ["none", "mean", "scaled-dot"]
    assert attention.seeds == (1, 2, 3, 4, 5)
    for run in attention.runs:
        name, seed = run.variant.name, run.seed
        assert run.config == load_config("classic", [f"model.attention={name}", f"train.seed={seed}"])
    published = {(each.variant, each.measure): each.mean for each in attention.published}
    for name, *means in (("none", 28.27, 2.523), ("mean", 29.6, 2.45), ("scaled-dot", 31.5, 2.36)):
        assert [published[name, measure] for measure in ("bleu", "validation_loss")] == means
    assert {variant.name for variant in studies["mechanisms"].variants} == set(ATTENTIONS)
    assert {each.against for each in studies["mechanisms"].contrasts} == {"scaled-dot"}
    assert [(each.variant, each.against) for each in studies["architecture"].contrasts] == [
        (f"architecture=transformer, pairs={pairs}", f"architecture=gru, pairs={pairs}")
        for pairs in (1000, 3000, 10_000, 30_000, 100_000)
    ]
    for name in ("attention", "small"):
        found = [(each.variant, each.against) for each in studies[name].contrasts]
        assert found == [("scaled-dot", "none"), ("scaled-dot", "mean")]
    assert studies["beam"].beams == (1, 5, 10, 20, 50)
    assert studies["small"].runs[0].config.data.bitext == "bilderbuch"
    assert len(studies["small"].seeds) == 3


def test_a_study_that_ships_is_found_by_its_name(tmp_path: Path) -> None:
    assert find_study("small").name == "small.toml"
    assert find_study(str(tmp_path / "mine.toml")) == tmp_path / "mine.toml"
    with pytest.raises(AugenmerkError, match=r"no study called 'smal': the studies are architecture, arch"):
        find_study("smal")
    listed = run_json("study", "--list")
    assert [row["name"] for row in listed] == list(BUNDLED_STUDIES)
    assert all(read_study(Path(row["file"])).question == row["question"] for row in listed)
    assert "small" in run_command("study", "--list").out
    assert "augenmerk study --list" in fails_with_a_sentence("study")


def test_settings_for_one_value_of_a_factor(tmp_path: Path) -> None:
    factors = '[factors]\n"model.architecture" = ["gru", "transformer"]\nattention = ["mean", "multi-head"]\n'
    own = "[settings_for.transformer]\ntrain.lr = 0.5\n[settings_for.transformer.model]\nlayers = 2\n"
    runs = declared(tmp_path, f"{LEAST}{factors}{own}").runs
    found = [(run.config.model.architecture, run.config.train.lr, run.config.model.layers) for run in runs]
    assert found == [("gru", 0.001, 1)] * 2 + [("transformer", 0.5, 2)] * 2
    for wrong, complaint in (
        ("[settings_for.lstm]\ntrain.lr = 1.0\n", "settings for 'lstm', but no factor has this value"),
        ('[settings_for.gru]\nattention = "dot"\n', "cannot have 'model.attention': it is a factor"),
        ("[settings_for.gru]\ntrain.seed = 3\n", "cannot have 'train.seed': name the seeds"),
        ("[settings_for.gru]\nlr = 3\n", "'lr' is not in a group of settings"),
    ):
        with pytest.raises(AugenmerkError, match=complaint):
            declared(tmp_path, LEAST + factors + wrong)
