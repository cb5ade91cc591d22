"""The service answers what the command line prints, whoever else asks at the same time."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any

import httpx
import pytest
from libretranslatepy import LibreTranslateAPI

from augenmerk.base.config import SearchConfig
from augenmerk.base.errors import AugenmerkError
from augenmerk.run.bundled import BUNDLED_MODEL
from augenmerk.serve.api import ENDPOINTS
from augenmerk.serve.endpoint import describe_api
from augenmerk.serve.registry import ModelRegistry
from augenmerk.translation import load
from augenmerk.web.examples import make_example
from tests.support.command import COMMAND, fails_with_a_sentence, run_command, run_json
from tests.support.runs import SharedRuns, tiny
from tests.support.serving import SECONDS, Serving, read_refusal, serving

TEXTS = [
    "Ein Hund schläft.",
    "Eine alte Frau sitzt mit ihrer Katze auf der Bank.",
    "Zwei Männer laufen am Strand.",
    "Ein kleines Mädchen mit rotem Hut spielt im Garten mit einem großen braunen Hund.",
    "Ein Mann fährt mit dem Fahrrad durch den Park.",
    "Kinder spielen Fußball.",
    "",
    "Eine Gruppe von Menschen steht vor einem Gebäude und wartet auf den Bus.",
]


@pytest.fixture(scope="module")
def shipped() -> Iterator[Serving]:
    """The bundled model, with two threads."""
    with serving(ModelRegistry(), threads=2) as server:
        yield server


@pytest.fixture(scope="module")
def several(shared_runs: SharedRuns, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """Two runs that were named, and one more below a folder."""
    folder = tmp_path_factory.mktemp("serve")
    for name, seed in (("a", 1), ("b", 2), ("runs/below/c", 2)):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shared_runs.copy(tiny(train__seed=seed), folder / name)
    (folder / "runs" / "unfinished").mkdir()
    registry = ModelRegistry([folder / "a", folder / "b"], folder=folder / "runs", loaded=1)
    with serving(registry, threads=1) as server:
        yield server


def test_a_text_is_translated_as_by_the_command(shipped: Serving) -> None:
    [line] = run_command("translate", "--json", "--beam", 3, "--n-best", 2, TEXTS[1]).out.splitlines()
    wanted = {"text": TEXTS[1], "beam": 3, "n_best": 2, "attention": True}
    answer = shipped.post("/v1/translate", wanted).json()
    assert answer["model"] == "multi30k-de-en"
    [given] = answer["translations"]
    assert_same(given, json.loads(line))
    for row in given["attention"]:
        assert sum(row) == pytest.approx(1.0, abs=1e-4)


def test_without_attention_there_are_only_the_figures(shipped: Serving) -> None:
    [given] = shipped.post("/v1/translate", {"text": TEXTS[1]}).json()["translations"]
    whole = load().translate(TEXTS[1]).to_dict()
    assert_same(given, {key: whole[key] for key in given})
    assert {"source", "translation", "score", "finished", "truncated", "unfamiliar"} <= given.keys()
    assert "attention" not in given


def assert_same(given: Any, wanted: Any) -> None:
    """Compares JSON; numbers may differ by what a batch of another size rounds."""
    if isinstance(wanted, dict):
        assert given.keys() == wanted.keys()
        for key in wanted:
            assert_same(given[key], wanted[key])
    elif isinstance(wanted, list):
        assert len(given) == len(wanted)
        for one, other in zip(given, wanted, strict=True):
            assert_same(one, other)
    elif isinstance(wanted, float):
        assert given == pytest.approx(wanted, abs=1e-4)
    else:
        assert given == wanted


def test_answers_are_those_of_the_command_under_load(shipped: Serving, tmp_path: Path) -> None:
    """Many clients with different settings, lists and single texts, at the same time."""
    file = tmp_path / "texts.txt"
    file.write_text("\n".join(TEXTS) + "\n", encoding="utf-8")
    kinds: list[tuple[dict[str, Any], list[str]]] = [
        ({"beam": 1}, ["--beam", "1"]),
        ({"beam": 4}, ["--beam", "4"]),
        ({"sample": True, "seed": 3, "top_k": 20}, ["--sample", "--seed", "3", "--top-k", "20"]),
        ({"sample": True, "seed": 4}, ["--sample", "--seed", "4"]),
    ]
    expected = {
        number: run_command("translate", "--input", file, *options).out.split("\n")[:-1]
        for number, (_, options) in enumerate(kinds)
    }

    def ask(number: int) -> None:
        settings = kinds[number % len(kinds)][0]
        wanted = expected[number % len(kinds)]
        if number % 3 and not settings.get("sample"):
            place = number % len(TEXTS)
            assert shipped.translate(TEXTS[place], **settings) == [wanted[place]]
        else:
            assert shipped.translate(TEXTS, **settings) == wanted

    with ThreadPoolExecutor(24) as pool:
        list(pool.map(ask, range(48)))
    sizes = shipped.service.metrics.batch_sizes
    assert sum(sizes.counts) < sizes.sum  # they did share batches


def test_a_list_longer_than_a_batch_is_put_together_again() -> None:
    texts = [f"{TEXTS[number % len(TEXTS)].rstrip('.')}{', sehr' * (number % 5)}." for number in range(40)]
    with serving(ModelRegistry(), threads=2, batch_tokens=50) as server:
        sources = server.post("/v1/translate", {"text": texts, "beam": 1}).json()["translations"]
        assert [one["source"] for one in sources] == texts
        expected = [one.text for one in load().translate(texts, beam=1)]
        assert [one["translation"] for one in sources] == expected
        assert server.service.metrics.batch_sizes.sum == len(texts)
        assert sum(server.service.metrics.batch_sizes.counts) > 5


def test_a_short_request_does_not_wait_for_a_long_list() -> None:
    with serving(ModelRegistry(), threads=1, batch_tokens=50) as server, ThreadPoolExecutor(1) as pool:
        with server.busy():
            long = pool.submit(server.translate, TEXTS[:3] * 20)
            server.wait_for_queue(1 + 60)
            short = server.submit(server.service.batcher.translate("multi30k-de-en", [TEXTS[0]]))
            server.wait_for_queue(1 + 61)
        short.result(SECONDS)  # type: ignore[call-arg]
        assert not long.done()
        assert len(long.result(SECONDS)) == 60


def test_scores_are_those_of_the_command(shipped: Serving) -> None:
    pair = ("Ein Hund schläft.", "A dog is sleeping.")
    [line] = run_command("score", "--json", *pair).out.splitlines()
    wanted = json.loads(line)
    request = {"source": pair[0], "target": pair[1], "attention": True}
    [given] = shipped.post("/v1/score", request).json()["scores"]
    assert_same(given, wanted)
    many = {"source": [pair[0]] * 3, "target": [pair[1], "A cat.", ""]}
    scores = shipped.post("/v1/score", many).json()["scores"]
    assert scores[0]["log_probability"] == pytest.approx(wanted["log_probability"], abs=1e-4)
    assert scores[1]["log_probability"] < scores[0]["log_probability"]
    shipped.refuses(400, "/v1/score", {"source": ["a", "b"], "target": "c"})


def test_models_are_listed_and_found_by_their_names_only(several: Serving) -> None:
    models = several.client.get("/v1/models").json()["models"]
    assert [(model["name"], model["default"]) for model in models] == [
        ("a", True),
        ("b", False),
        ("below/c", False),
    ]
    assert {(model["source_language"], model["target_language"]) for model in models} == {("de", "en")}
    text = "Der kleine Hund schläft."
    of_b = several.translate(text, model="b")
    assert several.translate(text, model="below/c") == of_b
    assert several.translate(text) == several.translate(text, model="a")
    folder = str(several.service.registry.folder)
    paths = (f"{folder}/below/c", "../a", "a/.", "below/../below/c", "\0")
    for name in ("nobody", "", "below", "unfinished", *paths):
        assert "There is no model" in several.refuses(404, "/v1/translate", {"text": text, "model": name})


def test_several_models_translate_together(several: Serving) -> None:
    registry = several.service.registry
    text = "Der kleine Hund schläft."
    together = load([registry.folder.parent / "a", registry.folder.parent / "b"])
    given = several.post("/v1/translate", {"text": text, "model": ["a", "b"]}).json()
    assert given["model"] == ["a", "b"]
    assert_same(given["translations"][0]["score"], together.translate(text).score)
    assert "one model" in several.refuses(
        400, "/v1/translate", {"text": text, "model": ["a", "b"], "heads": True}
    )


def test_an_ensemble_shares_the_models_of_its_runs(several: Serving) -> None:
    registry = several.service.registry
    assert list(registry.get(["b", "a"]).models) == [registry.get("b").model, registry.get("a").model]


def test_only_so_many_models_stay_loaded(several: Serving) -> None:
    for name in ("below/c", ["a", "b"], "below/c"):
        several.translate("Der Hund.", model=name)
        assert len(several.service.registry._others) == 1
    assert several.service.registry.get("a") is several.service.registry.get("a")


def test_what_is_wrong_with_a_run_is_said_without_its_path(shared_runs: SharedRuns, tmp_path: Path) -> None:
    """Who asks from elsewhere need not know where the server keeps its files."""
    shared_runs.copy(tiny(), tmp_path / "whole")
    shared_runs.copy(tiny(), tmp_path / "broken")
    for weights in (tmp_path / "broken").glob("*.safetensors"):
        weights.write_bytes(b"no weights")
    with serving(ModelRegistry([tmp_path / "whole"], folder=tmp_path), threads=1) as server:
        listed = server.client.get("/v1/models").text
        refused = server.post("/v1/translate", {"text": TEXTS[0], "model": ["whole", "broken"]})
    assert "broken" in listed
    assert refused.status_code >= 400
    assert "broken" in refused.text
    assert str(tmp_path) not in listed + refused.text


def test_a_run_that_was_trained_further_is_read_anew(shared_runs: SharedRuns, tmp_path: Path) -> None:
    old, new = (shared_runs.copy(tiny(train__seed=seed), tmp_path / f"seed{seed}") for seed in (1, 2))
    text = "Der kleine Hund schläft."
    scores = {}
    with serving(ModelRegistry([old.path]), threads=1) as server:

        def score() -> float:
            answer = server.post("/v1/score", {"source": text, "target": "The dog."}).json()
            return float(answer["scores"][0]["log_probability"])

        scores["old"] = score()
        for file in new.path.iterdir():
            if file.is_file():
                (old.path / file.name).write_bytes(file.read_bytes())
        assert score() == scores["old"]
        assert server.client.post("/v1/reload").json() == {"reloaded": ["seed1"]}
        scores["new"] = score()
        expected = load(new.path).score(text, "The dog.").log_probability
        assert scores["new"] == pytest.approx(expected, abs=1e-4)
        assert scores["new"] != pytest.approx(scores["old"], abs=1e-3)
        (old.path / "model.safetensors").write_bytes(b"broken")
        assert "model.safetensors" in read_refusal(400, server.client.post("/v1/reload"))
        assert score() == scores["new"]
        server.refuses(404, "/v1/reload", {"model": "nobody"})


def test_a_client_of_libretranslate_is_served(shipped: Serving) -> None:
    client = LibreTranslateAPI(shipped.address)
    [wanted] = shipped.translate("Ein Hund schläft.")
    assert client.translate("Ein Hund schläft.", "de", "en") == wanted
    assert client.translate("Ein Hund schläft.", "auto", "en") == wanted
    assert client.languages() == [
        {"code": "de", "name": "German", "targets": ["en"]},
        {"code": "en", "name": "English", "targets": []},
    ]
    computed = shipped.service.metrics.batch_sizes.sum
    assert client.detect("Ein Hund schläft auf der Wiese.") == [{"confidence": 100.0, "language": "de"}]
    assert client.detect("Собака спит на траве у дома.") == [{"confidence": 0.0, "language": "de"}]
    assert shipped.service.metrics.batch_sizes.sum == computed  # nothing was translated


def test_answers_have_the_shapes_of_libretranslate(shipped: Serving) -> None:
    first, second = shipped.translate(["Ein Hund schläft.", "Zwei Männer laufen."])
    text = "Ein Hund schläft. Zwei Männer laufen.\n\nEin Hund schläft."
    body = {"q": text, "source": "de", "target": "en", "format": "text", "alternatives": 2}
    answer = shipped.post("/translate", body).json()
    assert answer["translatedText"] == f"{first} {second}\n\n{first}"
    assert len(answer["alternatives"]) == 2
    assert answer.keys() == {"translatedText", "alternatives"}
    body = {"q": ["Ein Hund schläft.", "", "Zwei Männer laufen."], "source": "auto", "target": "en"}
    answer = shipped.post("/translate", body).json()
    assert answer["translatedText"] == [first, "", second]
    assert answer["detectedLanguage"][0] == {"confidence": 100.0, "language": "de"}
    assert "de to en" in shipped.refuses(400, "/translate", {"q": "x", "source": "fr", "target": "en"})
    assert "html" in shipped.refuses(400, "/translate", {"q": "x", "target": "en", "format": "html"})
    assert "q" in shipped.refuses(400, "/translate", {"target": "en"})
    too_many = {"q": "x", "target": "en", "alternatives": 10000}
    assert "10000" in shipped.refuses(400, "/translate", too_many)
    assert shipped.client.get("/frontend/settings").json()["charLimit"] == 2000


def test_health_and_metrics(shipped: Serving) -> None:
    assert shipped.client.get("/health/live").json() == {"status": "alive"}
    assert shipped.client.get("/health/ready").json() == {"status": "ready"}
    shipped.translate("Ein Hund.")
    shipped.client.get("/nowhere")
    shipped.client.get("/somewhere")
    answer = shipped.client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    values = {}
    for line in answer.text.splitlines():
        if not line.startswith("#"):
            found = re.fullmatch(r'(\w+(?:\{(?:\w+="[^"\\]*",?)*\})?) (\d\S*)', line)
            assert found is not None, line
            values[found[1]] = float(found[2])
    assert values['augenmerk_requests_total{route="/v1/translate",status="200"}'] >= 1
    assert values['augenmerk_requests_total{route="other",status="404"}'] >= 2
    assert values["augenmerk_batch_texts_count"] == values['augenmerk_batch_texts_bucket{le="+Inf"}']
    assert values["augenmerk_queued_texts"] == 0
    described = re.findall(r"^# TYPE (\w+) (?:counter|gauge|histogram)$", answer.text, re.M)
    assert len(described) == len(set(described)) == answer.text.count("# HELP ")


def test_the_description_is_of_what_there_is(shipped: Serving) -> None:
    described = shipped.client.get("/openapi.json").json()
    assert described == json.loads(json.dumps(describe_api(ENDPOINTS)))
    assert described["openapi"].startswith("3.1")
    routes = {route.path for route in shipped_routes(shipped)}
    assert set(described["paths"]) == routes - {"/docs", "/frontend/settings"}
    names = set(re.findall(r'"#/components/schemas/(\w+)"', json.dumps(described)))
    assert names <= described["components"]["schemas"].keys()
    for endpoint in ENDPOINTS:
        answer = shipped.client.request(endpoint.method, endpoint.path, json=endpoint.example)
        assert answer.status_code == 200, endpoint.path
        if endpoint.response is not None:
            for each in answer.json() if endpoint.is_list else [answer.json()]:
                endpoint.response.model_validate(each)  # no key is missing, and none is not described
                assert each.keys() <= endpoint.response.model_fields.keys()


NESTED = {
    "alternatives": "TranslationResponse",
    "sentences": "TranslationResponse",
    "heads": "HeadData",
    "uncovered": "Uncovered",
    "unfamiliar": "Unfamiliar",
}
"""Keys of answers whose values have a schema of their own."""


def test_the_keys_of_answers_are_those_of_their_schema(shared_runs: SharedRuns, tmp_path: Path) -> None:
    """With every combination of options, and by the command line and in stored examples, too."""
    config = tiny(
        model__architecture="transformer",
        model__attention="multi-head",
        model__heads=2,
        model__transformer={"feed_forward": 32},
        train__epochs=1,
    )
    run = shared_runs.copy(config, tmp_path / "transformer")
    found: dict[str, set[str]] = {}
    texts = [" ".join(TEXTS[:3]), TEXTS[0], "", "Привет 漢字"]
    names = ("attention", "subwords", "heads", "split_sentences", "mbr")
    with serving(ModelRegistry([BUNDLED_MODEL, run.path])) as server:
        schemas = server.client.get("/openapi.json").json()["components"]["schemas"]

        def check(value: dict[str, Any], schema: str) -> None:
            found.setdefault(schema, set()).update(value)
            required = schemas[schema]["required"]
            assert set(required) <= value.keys() <= schemas[schema]["properties"].keys(), (schema, value)
            for key, nested in NESTED.items():
                inner = value.get(key) or []
                for each in inner if isinstance(inner, list) else [inner]:
                    check(each, nested)

        for model in (BUNDLED_MODEL.name, "transformer"):
            for values in product((False, True), repeat=len(names)):
                options = dict(zip(names, values, strict=True))
                asked = {"model": model, "text": texts, "beam": 2, "n_best": 2, **options}
                for each in server.post("/v1/translate", asked).json()["translations"]:
                    check(each, "TranslationResponse")
            for values in product((False, True), repeat=2):
                asked = {"model": model, "source": TEXTS[3], "target": "A girl.", "attention": values[0]}
                for each in server.post("/v1/score", asked | {"heads": values[1]}).json()["scores"]:
                    check(each, "ScoredPair")
    for line in run_command("translate", "--json", "--heads", "--subwords", *texts[:2]).out.splitlines():
        check(json.loads(line), "TranslationResponse")
    check(run_json("score", "--heads", TEXTS[0], "A dog."), "ScoredPair")
    added = {"ids", "token_log_probabilities", "source_word_of", "target_word_of", "next", "tree"}
    example = make_example(load(), TEXTS[0], 2)
    check({key: value for key, value in example.items() if key not in added}, "TranslationResponse")
    assert added <= example.keys()
    assert found == {schema: set(schemas[schema]["properties"]) for schema in found}
    assert found.keys() == {"ScoredPair", *NESTED.values()}


def shipped_routes(server: Serving) -> list[Any]:
    from augenmerk.serve.server import make_app

    return list(make_app(server.service, pages=False).routes)


def test_a_request_may_have_every_setting_of_the_search(shipped: Serving) -> None:
    described = shipped.client.get("/openapi.json").json()
    [body] = described["paths"]["/v1/translate"]["post"]["requestBody"]["content"].values()
    fields = described["components"]["schemas"][body["schema"]["$ref"].rpartition("/")[2]]["properties"]
    for name, value in SearchConfig().model_dump().items():
        assert fields[name]["description"]
        answer = shipped.post("/v1/translate", {"text": TEXTS[0], name: value})
        assert answer.status_code == 200, (name, answer.text)


def test_the_page_of_the_api_needs_nothing_from_elsewhere(shipped: Serving) -> None:
    answer = shipped.client.get("/docs")
    assert "<script" not in answer.text
    assert not re.search(r'(?:src|href)="(?!/openapi|data:,")', answer.text)
    assert answer.headers["content-security-policy"].startswith("default-src 'none'")
    for endpoint in ENDPOINTS:
        assert endpoint.path in answer.text or not endpoint.summary
    schemas = shipped.client.get("/openapi.json").json()["components"]["schemas"]
    for name in {field for schema in schemas.values() for field in schema["properties"]} - {"error"}:
        assert f"<code>{name}</code>" in answer.text


@pytest.mark.parametrize("host", ["localhost:1234", "[::1]:8080", "127.0.0.1"])
def test_the_page_of_the_api_shows_the_address_that_it_was_asked_by(shipped: Serving, host: str) -> None:
    page = shipped.client.get("/docs", headers={"host": host}).text
    assert set(re.findall("^<pre>curl ([^/ ]+)/", page, re.M)) == {host}
    assert "Authorization" not in page
    with serving(ModelRegistry(), keys=("k" * 20,)) as server:
        page = server.client.get("/docs", headers={"x-api-key": "k" * 20}).text
    assert page.count("Authorization: Bearer KEY") == page.count("<pre>curl") > 3


def test_what_the_page_asks_for_is_answered(shipped: Serving) -> None:
    page = (Path(__file__).parents[2] / "docs" / "guides" / "serving.md").read_text(encoding="utf-8")
    asked = re.findall(r"^\$ curl localhost:8765(\S+)(?: -d '(.*)')?$", page, re.M)
    assert len(asked) > 5
    for path, body in asked:
        answer = shipped.client.post(path, content=body.encode()) if body else shipped.client.get(path)
        assert answer.status_code == (404 if '"a", "b"' in body else 200), body
    shown = re.search(r'^(\{"model":"multi30k-de-en".*?"translation":".*?"),\.\.\.', page, re.M)
    assert shown is not None
    first = shipped.client.post("/v1/translate", content=asked[0][1].encode())
    assert first.text.startswith(shown[1])


def test_what_is_not_there_is_said_in_json(shipped: Serving) -> None:
    assert "/docs" in read_refusal(404, shipped.client.get("/nowhere"))
    answer = shipped.client.get("/v1/translate")
    assert "GET" in read_refusal(405, answer)
    assert "POST" in answer.headers["allow"]


def test_a_library_names_runs_that_have_the_same_name_by_their_paths(
    shared_runs: SharedRuns, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for place in ("one/run", "two/run"):
        Path(place).parent.mkdir()
        shared_runs.copy(tiny(), Path(place))
    assert ModelRegistry([Path("one/run"), Path("two/run")]).names == ["one/run", "two/run"]
    assert ModelRegistry([Path("one/run"), BUNDLED_MODEL]).names == ["run", "multi30k-de-en"]
    with pytest.raises(AugenmerkError, match="no model to translate with"):
        ModelRegistry([Path("one/run")]).get([])


def test_the_command_says_what_is_wrong(tmp_path: Path) -> None:
    nothing = tmp_path / "nothing"
    assert f"{nothing}: there is no such run" in fails_with_a_sentence("serve", nothing)
    assert "NAME=VALUE" in fails_with_a_sentence("serve", "--limit", "beams=3")
    assert "deadline" in fails_with_a_sentence("serve", "--limit", "deadline=soon")
    assert "origin" in fails_with_a_sentence("serve", "--origin", "example.org")
    assert "cannot listen" in fails_with_a_sentence("serve", "--check", "--host", "203.0.113.1")
    (tmp_path / "keys").write_text("short\n", encoding="utf-8")
    assert "16" in fails_with_a_sentence("serve", "--keys", tmp_path / "keys")
    (tmp_path / "keys").write_text("# none\n", encoding="utf-8")
    assert "no API key" in fails_with_a_sentence("serve", "--keys", tmp_path / "keys")


@pytest.mark.skipif(sys.platform == "win32", reason="it has no such signals")
def test_the_process_rereads_on_sighup_and_drains_on_sigterm(tmp_path: Path) -> None:
    """What was asked before SIGTERM is answered; the log has no text; the exit code is 0."""
    (tmp_path / "keys").write_text("0123456789abcdef-first\n", encoding="utf-8")
    options = ("--no-pages", "--port", "0", "--json", "--keys", str(tmp_path / "keys"))
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    environment.pop("PYTHONUNBUFFERED", None)
    secret = "Geheimnis"
    command = [*COMMAND, "serve", *options]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=environment) as process:
        try:
            assert process.stdout is not None
            printed = ""
            while not printed.endswith("}\n"):
                line = process.stdout.readline()
                assert line, process.stderr and process.stderr.read()
                printed += line
            address = json.loads(printed)["address"]
            with httpx.Client(base_url=address, timeout=SECONDS) as client:

                def ask(key: str, text: str | list[str], beam: int = 1) -> httpx.Response:
                    body = {"text": text, "beam": beam}
                    return client.post("/v1/translate", json=body, headers={"x-api-key": key})

                assert ask("0123456789abcdef-first", f"Ein {secret}.").status_code == 200
                (tmp_path / "keys").write_text("0123456789abcdef-second\n", encoding="utf-8")
                process.send_signal(signal.SIGHUP)
                while ask("0123456789abcdef-second", f"Ein {secret}.").status_code != 200:
                    assert process.poll() is None
                assert ask("0123456789abcdef-first", secret).status_code == 401
                with ThreadPoolExecutor(1) as pool:
                    long = pool.submit(ask, "0123456789abcdef-second", [f"Ein {secret} schläft."] * 60, 10)
                    while "batch_texts_count 0" in (metrics := read_metrics(client)) or busy(metrics) == 0:
                        assert not long.done(), "it was too quick to be interrupted"
                    process.send_signal(signal.SIGTERM)
                    answer = long.result(SECONDS)
                assert answer.status_code == 200
                assert len(answer.json()["translations"]) == 60
            assert process.wait(SECONDS) == 0
        finally:
            process.kill()
        assert process.stderr is not None
        log = process.stderr.read()
    assert secret not in log
    assert "reloaded: multi30k-de-en" in log


def read_metrics(client: httpx.Client) -> str:
    return client.get("/metrics", headers={"x-api-key": "0123456789abcdef-second"}).text


def busy(metrics: str) -> float:
    found = re.search(r"^augenmerk_queued_texts (\S+)$", metrics, re.M)
    assert found is not None
    return float(found[1])
