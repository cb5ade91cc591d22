"""The theory pages: their numbers are Python's, and the exported page is dragged and typed into."""

import json
import math
import re
import time
from base64 import b64encode
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy.spatial import ConvexHull
from scipy.special import ndtr
from scipy.stats import kstest

import augenmerk.web
from augenmerk.theory import closed_form, self_attention
from augenmerk.theory.attention import Array, attend, orthonormal
from augenmerk.theory.copying import leak_bound, reach, strength_needed, tied_weight
from augenmerk.theory.exercises import EXERCISES
from augenmerk.theory.noise import KeyNoise, resample
from augenmerk.theory.results import plane_values
from augenmerk.web.export import describe_theory, export_theory
from tests.support.browser import TIMEOUT, WatchedTab
from tests.support.command import fails_with_a_sentence, run_json

if TYPE_CHECKING:
    from playwright.sync_api import Browser as Chromium
    from playwright.sync_api import BrowserContext, Page, Route

WEB = Path(augenmerk.web.__file__).parent
MODULES = ("attention", "closed_form", "copying", "noise", "notation", "random", "results", "self_attention")
TASKS = ("play", "1.1", "1.2", "1.3", "1.4", "1.5", "1.6", "1.7")
HOSTILE = "<img src=x onerror=\"document.title='pwned'\">"


def output_moments(
    values: Array, strengths: Array, betas: tuple[float, float], origin: closed_form.Origin = "means"
) -> tuple[Array, Array]:
    """Returns the mean (dv) and the covariance (dv, dv) of the mean output of heads, for values (m, dv).

    The query of each head lies in the plane of mu_a and mu_b: `strengths` (heads, 2) has its s_a and s_b, so
    that the logits are s_a lambda_a and s_b lambda_b, or with the squares of the lambdas for queries from the
    keys, and 0 for all others. `betas` are the variances of lambda_a and lambda_b.
    """
    lambdas, weights = [], []
    for beta, steepest in zip(betas, np.abs(strengths).max(axis=0), strict=True):
        logits, slope = closed_form._logits_of_noise(1.0, beta, origin)
        x, w = (
            closed_form._nodes(max(1.0, steepest * slope * math.sqrt(beta)))
            if beta
            else (np.zeros(1), np.ones(1))
        )
        lambdas.append(logits(x * math.sqrt(beta)))  # or their squares
        weights.append(w)
    outputs = np.zeros((len(lambdas[0]), len(lambdas[1]), values.shape[1]))
    for s_a, s_b in strengths:
        logits_of_two = np.broadcast_arrays(s_a * lambdas[0][:, None], s_b * lambdas[1])
        z = np.stack([*logits_of_two, np.zeros(logits_of_two[0].shape)], axis=-1)
        exponentials = np.exp(z - z.max(axis=-1, keepdims=True)) * [1, 1, len(values) - 2]
        beside = values[2:].mean(axis=0) if len(values) > 2 else np.zeros(values.shape[1])
        shares = exponentials / exponentials.sum(axis=-1, keepdims=True)
        outputs += shares @ np.stack([values[0], values[1], beside]) / len(strengths)
    density = np.outer(*weights)[..., None]
    mean = (density * outputs).sum(axis=(0, 1))
    apart = (outputs - mean).reshape(-1, values.shape[1])
    return mean, np.asarray((apart * density.reshape(-1, 1)).T @ apart)


# -- numbers -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def modules(chromium: "Chromium") -> "Iterator[Page]":
    """An empty page that has what the modules export, under the same names."""

    # A browser imports no modules from a disk.
    def serve(route: "Route") -> None:
        name = route.request.url.removeprefix("http://page.test/")
        if name:
            route.fulfill(path=WEB / name, content_type="text/javascript")
        else:
            route.fulfill(body="<!DOCTYPE html>", content_type="text/html")

    page = chromium.new_page()
    page.route("http://page.test/**", serve)
    page.goto("http://page.test/")
    for module in MODULES:
        page.evaluate(
            "async (module) => void Object.assign(window, await import(module))", f"/theory/{module}.js"
        )
    yield page
    page.close()


def test_weights_and_outputs_are_those_of_python(modules: "Page") -> None:
    rng = np.random.default_rng(1)
    cases, expected = [], []
    for number in range(60):
        m, d = int(rng.integers(1, 12)), int(rng.integers(1, 7))
        size = 10.0 ** rng.uniform(-2, 3)
        query, keys = size * rng.standard_normal(d), rng.standard_normal((m, d))
        values, scale = rng.standard_normal((m, 2)), [None, 1.0, 0.25][number % 3]
        found = attend(query, keys, values, scale)
        cases.append([query.tolist(), keys.tolist(), values.tolist(), scale])
        expected.append((found.weights, found.output))
    answers = modules.evaluate("cases => cases.map((each) => attend(...each))", cases)
    for answer, (weights, output) in zip(answers, expected, strict=True):
        np.testing.assert_allclose(answer["weights"], weights, rtol=0, atol=1e-10)
        np.testing.assert_allclose(answer["output"], output, rtol=0, atol=1e-10)
    assert modules.evaluate("softmax([1e308, -1e308, 1e308])") == [0.5, 0, 0.5]


def test_hulls_are_those_of_a_library(modules: "Page") -> None:
    rng = np.random.default_rng(2)
    clouds = [rng.standard_normal((int(rng.integers(3, 12)), 2)) for _ in range(40)]
    found = modules.evaluate("clouds => clouds.map(convexHull)", [cloud.tolist() for cloud in clouds])
    for cloud, corners in zip(clouds, found, strict=True):
        expected = ConvexHull(cloud).vertices.tolist()  # counterclockwise as well, from any corner
        start = expected.index(corners[0])
        assert corners == expected[start:] + expected[:start]
    # Points on an edge, and points that are there twice, are no corners.
    square = [[0, 0], [1, 0], [1, 1], [0, 1], [0.5, 0], [1, 1]]
    assert len(modules.evaluate("convexHull", square)) == 4


def test_what_a_query_can_reach_is_what_python_says(modules: "Page") -> None:
    rng = np.random.default_rng(3)
    cases = []
    for number in range(120):
        keys = rng.standard_normal((int(rng.integers(3, 10)), int(rng.integers(2, 5))))
        cases.append((keys, [0] if number % 2 else [0, 1]))
    found = modules.evaluate(
        "cases => cases.map(([keys, subset]) => reach(keys, subset))",
        [[keys.tolist(), subset] for keys, subset in cases],
    )
    possible = 0
    for (keys, subset), answer in zip(cases, found, strict=True):
        expected = reach(keys, subset)
        assert (answer["query"] is not None) == expected.possible
        if expected.query is not None:
            possible += 1
            np.testing.assert_allclose(answer["query"], expected.query, atol=1e-9)
            assert answer["margin"] == pytest.approx(expected.margin, abs=1e-9)
            np.testing.assert_allclose(answer["hullWeights"], expected.hull_weights, atol=1e-8)
        elif len(subset) == 1:  # which of several combinations is found, is a matter of chance
            weights = np.array(answer["hullWeights"])
            np.testing.assert_allclose(weights @ keys, keys[0], atol=1e-9)
            assert weights.min() >= 0
            assert weights[0] == 0
            assert answer["ceiling"] == pytest.approx(weights.max() / (1 + weights.max()), abs=1e-9)
    assert 20 < possible < 110


def test_bounds_and_values_are_those_of_python(modules: "Page") -> None:
    for keys, subset, strength in ((8, 1, 3.0), (8, 2, 5.5), (3, 2, 0.1), (200, 2, 40.0)):
        answer = modules.evaluate(
            "([m, n, s]) => [leakBound(m, n, s), strengthNeeded(m, n, 0.01), tiedWeight(m, n, s)]",
            [keys, subset, strength],
        )
        expected = (
            leak_bound(keys, subset, strength),
            strength_needed(keys, subset, 0.01),
            tied_weight(keys, subset, strength),
        )
        assert answer == pytest.approx(expected, rel=1e-12)
    for count in (2, 3, 8, 32):
        np.testing.assert_allclose(modules.evaluate("planeValues", count), plane_values(count), atol=1e-12)


@pytest.mark.parametrize("origin", ["means", "keys"])
def test_moments_of_outputs_contain_those_of_weights(origin: closed_form.Origin) -> None:
    """With the unit vectors as values, an output is its weights."""
    for keys, s, beta in ((8, 10.0, 0.1), (3, 4.0, 0.5), (5, 20.0, 0.01)):
        mean, covariance = output_moments(np.eye(keys), np.array([[s, s]]), (beta, beta), origin)
        expected = closed_form.weight_of_first(keys, s, beta, origin)
        assert mean[:2] == pytest.approx([expected.mean] * 2, abs=1e-9)
        assert math.sqrt(covariance[0, 0]) == pytest.approx(expected.deviation, abs=1e-9)
        assert mean.sum() == pytest.approx(1)
        np.testing.assert_allclose(covariance.sum(axis=0), 0, atol=1e-12)
        heads = np.array([[s, 0.0], [0.0, s]])
        mean, covariance = output_moments(np.eye(keys), heads, (beta, beta), origin)
        expected = closed_form.head_per_value_weight(keys, s, beta, 2, origin)
        assert mean[0] == pytest.approx(expected.mean, abs=1e-9)
        assert math.sqrt(covariance[0, 0]) == pytest.approx(expected.deviation, abs=1e-9)


@pytest.mark.parametrize("origin", ["means", "keys"])
@pytest.mark.parametrize(
    ("strengths", "betas"),
    [
        ([[10.0, 10.0]], (0.1, 0.1)),
        ([[12.0, 7.5]], (0.3, 0.3)),
        ([[20.0, 0.0], [0.0, 20.0]], (0.1, 0.1)),
        ([[22.0, 14.0], [-3.0, 20.0]], (0.5, 0.0)),
        ([[0.0, 0.0]], (0.1, 0.1)),
    ],
)
def test_closed_forms_are_those_of_python(
    modules: "Page", strengths: list[list[float]], betas: tuple[float, float], origin: closed_form.Origin
) -> None:
    values = plane_values(8)
    mean, covariance = output_moments(values, np.array(strengths), betas, origin)
    answer = modules.evaluate(
        "([...each]) => outputMoments(...each)", [values.tolist(), strengths, list(betas), origin]
    )
    np.testing.assert_allclose(answer["mean"], mean, rtol=0, atol=1e-10)
    expected = [covariance[0, 0], covariance[0, 1], covariance[1, 1]]
    np.testing.assert_allclose(answer["covariance"], expected, rtol=0, atol=1e-10)


def test_the_chance_that_a_head_breaks_is_that_of_python(modules: "Page") -> None:
    x = np.concatenate([np.linspace(-9, 9, 181), [-3.0000001, -2.9999999, -30.0, 40.0]])
    np.testing.assert_allclose(modules.evaluate("x => x.map(ndtr)", x.tolist()), ndtr(x), rtol=1e-11)
    for each in ((8, 20.0, 0.1, 0.05), (64, 5.0, 0.5, 0.05), (8, 20.0, 0.0, 0.05), (3, 2.0, 0.01, 0.01)):
        expected = closed_form.head_breaks(*each)
        assert modules.evaluate("each => headBreaks(...each)", each) == pytest.approx(expected, rel=1e-10)
    never = closed_form.head_breaks(2, math.inf, 0.1, 0.5)
    assert modules.evaluate("headBreaks(2, Infinity, 0.1, 0.5)") == pytest.approx(never, rel=1e-10)


def test_outputs_of_drawn_keys_are_those_of_python(modules: "Page") -> None:
    """A query in the plane of two means sees of keys in any dimension only their projections onto it."""
    rng = np.random.default_rng(5)
    m, d, count, values = 6, 20, 50, plane_values(6)
    means = orthonormal(m, d, rng)
    lambdas, keys = KeyNoise.of_first(m, 0.5, 0.01).sample(means, count, rng)
    heads = np.array([[9.0, 4.0], [-1.0, 7.0]])
    for origin in ("means", "keys", "lengths"):
        parts = {
            "means": np.broadcast_to(means[:2], (count, 2, d)),
            "keys": keys[:, :2],
            "lengths": means[:2] / lambdas[:, :2, None],
        }[origin]
        queries = np.einsum("hp,npd->nhd", heads, parts)
        if origin == "keys":  # the noise across the plane is not seen by the page
            queries = queries @ means[:2].T @ means[:2]
        found = attend(queries, keys[:, None], values, 1.0).output.mean(axis=1)
        answer = modules.evaluate(
            "([lambdas, keys, m, heads, values, origin]) => [...attendToSamples("
            "{m, lambdas: Float64Array.from(lambdas), keys: Float64Array.from(keys)},"
            " heads, values, 1, origin)]",
            [
                lambdas.ravel().tolist(),
                (keys @ means[:2].T).ravel().tolist(),
                m,
                heads.tolist(),
                values.tolist(),
                origin,
            ],
        )
        np.testing.assert_allclose(np.reshape(answer, (count, 2)), found, rtol=0, atol=1e-9)


def test_random_numbers_are_normal_and_follow_their_seed(modules: "Page") -> None:
    draw = "seed => { const rng = new Random(seed); return Array.from({length: 20000}, () => rng.normal()); }"
    first, again, other = (np.array(modules.evaluate(draw, seed)) for seed in (7, 7, 8))
    np.testing.assert_array_equal(first, again)
    assert abs(np.corrcoef(first, other)[0, 1]) < 0.03
    assert kstest(first, "norm").pvalue > 1e-3
    assert abs(np.corrcoef(first[:-1], first[1:])[0, 1]) < 0.03


@pytest.mark.parametrize("heads", [[[8.0, 8.0]], [[8.0, 0.0], [0.0, 8.0]]])
def test_clouds_scatter_as_the_closed_form_and_python_say(modules: "Page", heads: list[list[float]]) -> None:
    values, count = plane_values(8), 6000
    answer = modules.evaluate(
        """([values, heads, count]) => {
          const noise = KeyNoise.ofNorms(8, 0.4);
          const samples = noise.sample(planeMeans(8), count, new Random(3));
          return outputStatistics(attendToSamples(samples, heads, values, 1), count);
        }""",
        [values.tolist(), heads, count],
    )
    mean, covariance = output_moments(values, np.array(heads), (0.4, 0.4))
    means = orthonormal(8, 8, np.random.default_rng(4))

    def queries(means: Array, keys: Array) -> Array:
        return np.broadcast_to(np.array(heads) @ means[:2], (len(keys), len(heads), 8))

    drawn = resample(means, KeyNoise.of_norms(8, 0.4), queries, count, np.random.default_rng(5), 1.0)
    outputs = drawn.outputs(values)
    for found in (answer["mean"], outputs.mean(axis=0)):
        errors = 5 * np.sqrt(np.diag(covariance) / count) + 1e-4
        assert (np.abs(found - mean) < errors).all()
    (xx, xy), (_, yy) = np.cov(outputs.T)
    for drawn_covariance in (answer["covariance"], [xx, xy, yy]):
        expected = [covariance[0, 0], covariance[0, 1], covariance[1, 1]]
        np.testing.assert_allclose(drawn_covariance, expected, rtol=0.15, atol=0.01)


def test_an_ellipse_has_the_axes_of_its_covariance(modules: "Page") -> None:
    matrix = np.array([[0.5, 0.2], [0.2, 0.3]])
    lengths, directions = np.linalg.eigh(matrix)
    found = modules.evaluate("covarianceEllipse", [0.5, 0.2, 0.3])
    assert [found["short"], found["long"]] == pytest.approx(np.sqrt(lengths))
    along = np.array([math.cos(found["angle"]), math.sin(found["angle"])])
    assert abs(along @ directions[:, 1]) == pytest.approx(1)


def test_self_attention_is_that_of_python(modules: "Page") -> None:
    rng = np.random.default_rng(6)
    for B in (0.5, 1.0, 3.0):
        parts = B * orthonormal(4, 9, rng)
        for _ in range(5):
            K, Q, V = rng.integers(-1, 2, size=(3, 4, 4)).astype(float)
            K_, Q_, V_ = (self_attention.in_space(each, parts) for each in (K, Q, V))
            weights, outputs = self_attention.self_attend(self_attention.INPUTS @ parts, K_, Q_, V_)
            answer = modules.evaluate(
                "([K, Q, V, B]) => selfAttend(INPUTS, K, Q, V, B)", [*(M.tolist() for M in (K, Q, V)), B]
            )
            np.testing.assert_allclose(answer["weights"], weights, atol=1e-10)
            np.testing.assert_allclose(answer["outputs"], outputs @ parts.T / B**2, atol=1e-10)
    published = modules.evaluate("PUBLISHED")
    for name in "KQV":
        np.testing.assert_array_equal(published[name], getattr(self_attention.PUBLISHED, name))
    np.testing.assert_array_equal(modules.evaluate("INPUTS"), self_attention.INPUTS)
    np.testing.assert_array_equal(
        modules.evaluate("WANTED"), [self_attention.WANTED[0], self_attention.WANTED[1]]
    )


def test_formulas_are_set_and_words_are_left_alone(modules: "Page") -> None:
    def read(text: str) -> list[tuple[str, str]]:
        return [(piece["text"], piece["kind"]) for piece in modules.evaluate("readNotation", text)]

    assert read("q = c(mu_a + x_1)/sqrt(d)") == [
        *(("q", "variable"), (" = ", "plain"), ("c", "variable"), ("(", "plain"), ("μ", "variable")),
        *(("a", "below"), (" + ", "plain"), ("x", "variable"), ("1", "below"), (")/", "plain")),
        *(("√", "plain"), ("d", "variable")),
    ]
    assert read("Is there a query, or a key? I have no k.") == [
        ("Is there a query, or a key? I have no ", "plain"),
        ("k", "variable"),
        (".", "plain"),
    ]
    for question in EXERCISES.values():  # no letter of a text is lost
        for text in (question.text, *question.hints):
            kept = "".join(piece for piece, _ in read(text))
            words = re.findall(r"[A-Za-z]{4,}", text.replace("sqrt", ""))
            greek = {"alpha", "beta", "lambda"}
            assert [word for word in words if word not in greek] == re.findall(r"[A-Za-z]{4,}", kept)


def test_there_are_the_same_texts_in_both_languages(modules: "Page") -> None:
    modules.evaluate("async () => void Object.assign(window, await import('/theory/texts.js'))")
    english, german = modules.evaluate("[THEORY_TEXTS.en, THEORY_TEXTS.de]")
    assert list(english) == list(german)
    for name, text in english.items():
        assert set(re.findall(r"\{\w+\}", text)) == set(re.findall(r"\{\w+\}", german[name])), name
    scripts = "".join(path.read_text("utf-8") for path in (WEB / "theory").glob("*.js"))
    assert set(re.findall(r'\bt\("(\w+)"', scripts)) <= set(english)


@pytest.mark.parametrize("task", TASKS[1:])
def test_german_questions_ask_the_same(task: str) -> None:
    """They have the same formulas, names and hints."""
    english, german = EXERCISES[task], EXERCISES[task].german
    assert german is not None
    assert list(german.names) == list(english.names)
    assert len(german.hints) == len(english.hints)
    pattern = r"(?:alpha|beta|lambda|mu|[a-z])_\w|sqrt\(d\)|\b1/2\b|\bN\(|\b[BKQV]\b|\b1\.\d"
    for ours, theirs in zip((german.text, *german.hints), (english.text, *english.hints), strict=True):
        expected = theirs.replace("(augenmerk theory 1.1 --hint 3)", "")
        assert sorted(re.findall(pattern, ours)) == sorted(re.findall(pattern, expected))


# -- the exported page -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return export_theory(tmp_path_factory.mktemp("theory") / "theory.html")


class TheoryTab(WatchedTab):
    """A theory page in a tab, with what people do in it and see."""

    def __init__(self, context: "BrowserContext", address: str) -> None:
        super().__init__(context, address)
        self.tab.wait_for_selector(".theory[data-drawn]")

    def wait(self, expression: str, argument: Any = None) -> None:
        """Waits until an expression is true; Playwright's own way would need eval, which the page forbids."""
        until = time.monotonic() + TIMEOUT
        while not self.tab.evaluate(expression, argument):
            assert time.monotonic() < until, expression
            time.sleep(0.01)

    def fragment(self) -> dict[str, str]:
        found: dict[str, str] = self.tab.evaluate(
            "Object.fromEntries(new URLSearchParams(location.hash.slice(1)))"
        )
        return found

    def wait_for_fragment(self, name: str) -> str:
        """What the address says once it rests; while a point is dragged slowly it is written, too.

        The page writes 150 ms after the last change, so a later timer that waits for longer ends after it.
        """
        self.tab.evaluate(
            "new Promise(rested => requestAnimationFrame(() =>"
            " requestAnimationFrame(() => setTimeout(rested, 200))))"
        )
        self.wait("name => new URLSearchParams(location.hash.slice(1)).has(name)", name)
        return self.fragment()[name]

    def weights(self) -> list[float]:
        """The weights that the bars show."""
        found: list[float] = self.tab.eval_on_selector_all(
            ".weights-now .bar", "bars => bars.map(bar => Number(bar.style.getPropertyValue('--share')))"
        )
        return found

    def place(self, handle: str) -> tuple[float, float]:
        """Where a point is on the screen."""
        box = self.tab.locator(f'[data-handle="{handle}"] .knob').bounding_box()
        assert box is not None
        return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    def drag(self, handle: str, dx: float, dy: float) -> None:
        x, y = self.place(handle)
        self.tab.mouse.move(x, y)
        self.tab.mouse.down()
        for step in (1, 2, 3):
            self.tab.mouse.move(x + dx * step / 3, y + dy * step / 3)
        self.tab.mouse.up()

    def said(self) -> str:
        return self.tab.inner_text(".said-now")


def points(text: str) -> Array:
    return np.array([[float(each) for each in pair.split(",")] for pair in text.split(";")])


@pytest.fixture
def context(chromium: "Chromium") -> "Iterator[BrowserContext]":
    context = chromium.new_context(
        locale="en-GB", viewport={"width": 1200, "height": 900}, reduced_motion="reduce"
    )
    yield context
    context.close()


def test_a_dragged_query_changes_weights_and_output_as_python_says(
    context: "BrowserContext", page: Path
) -> None:
    view = TheoryTab(context, page.as_uri())
    before = view.weights()
    view.drag("q", -150, 40)
    [query] = points(view.wait_for_fragment("q"))
    view.drag("k_3", 60, -20)
    keys = points(view.wait_for_fragment("keys"))
    view.drag("v_2", -80, 60)
    values = points(view.wait_for_fragment("values"))
    weights, output = attend(3 * query, keys, values)
    assert view.weights() == pytest.approx(weights, abs=2e-3)  # an address has four decimals
    assert max(abs(a - b) for a, b in zip(before, weights, strict=True)) > 0.2
    view.wait("text => document.querySelector('.said-now').textContent.includes(text)", f"{output[0]:.2f}")
    path = view.tab.get_attribute(".plane path.output", "d")
    assert path is not None
    x, top = map(float, re.findall(r"-?[\d.]+", path)[:2])
    box = view.tab.locator(".plane").nth(1).bounding_box()
    assert box is not None
    unit = (box["width"] - 2) / 3.4
    assert x == pytest.approx((output[0] + 1.7) * unit, abs=0.5)
    assert top + 10 == pytest.approx((1.7 - output[1]) * unit, abs=0.5)
    # The same address shows the same again.
    again = TheoryTab(context, f"{page.as_uri()}{view.tab.evaluate('location.hash')}")
    assert again.weights() == pytest.approx(weights, abs=1e-4)
    assert view.complaints == again.complaints == []


def test_arrow_keys_move_a_point_and_a_slider_scales(context: "BrowserContext", page: Path) -> None:
    view = TheoryTab(context, page.as_uri())
    view.tab.focus('[data-handle="q"]')
    view.tab.keyboard.press("ArrowRight")
    view.tab.keyboard.press("Shift+ArrowDown")
    assert view.wait_for_fragment("q") == "1,0.7"
    assert view.tab.get_attribute('[data-handle="q"]', "aria-valuetext") == "x 1.00, y 0.70"
    view.tab.focus('[data-control="c"]')
    view.tab.keyboard.press("End")
    assert view.wait_for_fragment("c") == "300"
    view.wait("Number(document.querySelector('.weights-now .bar').style.getPropertyValue('--share')) > 0.99")
    view.tab.keyboard.press("Home")
    view.wait("Number(document.querySelector('.weights-now .bar').style.getPropertyValue('--share')) < 0.25")
    view.tab.click('[data-control="more"]')
    view.wait("document.querySelectorAll('.weights-now li').length === 6")
    assert len(points(view.wait_for_fragment("keys"))) == 6
    view.tab.click('[data-control="again"]')
    view.wait("document.querySelectorAll('.weights-now li').length === 5")
    assert view.complaints == []


def test_a_link_is_followed_whatever_has_just_been_changed(context: "BrowserContext", page: Path) -> None:
    # What is written after a pause is written at once, after the address changed and before the page is told.
    context.add_init_script("window.setTimeout = (call) => void (window.later = call);")
    view = TheoryTab(context, page.as_uri())
    view.wait("window.later !== undefined")
    view.tab.evaluate(
        """() => {
          document.querySelector("[data-handle=q]")
            .dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowLeft"}));
          location.hash = "#task=1.6";
          window.later();
        }"""
    )
    view.wait("document.querySelector('.tasks [aria-current]').dataset.task === '1.6'")
    assert view.complaints == []


def test_a_click_in_the_plane_fetches_the_query(context: "BrowserContext", page: Path) -> None:
    view = TheoryTab(context, page.as_uri())
    box = view.tab.locator(".plane").first.bounding_box()
    assert box is not None
    view.tab.mouse.click(box["x"] + 0.75 * box["width"], box["y"] + 0.7 * box["height"])
    [query] = points(view.wait_for_fragment("q"))
    np.testing.assert_allclose(query, [0.85, -0.68], atol=0.02)
    assert view.complaints == []


def test_a_finger_drags_a_point(chromium: "Chromium", page: Path) -> None:
    context = chromium.new_context(viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True)
    view = TheoryTab(context, page.as_uri())
    before = view.weights()
    x, y = view.place("q")
    session = context.new_cdp_session(view.tab)
    for kind, dx in (("touchStart", 0), ("touchMove", -60), ("touchMove", -120), ("touchEnd", None)):
        fingers = [] if dx is None else [{"x": x + dx, "y": y}]
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": fingers})
    [query] = points(view.wait_for_fragment("q"))
    assert query[0] < 0.2
    assert query[1] == pytest.approx(0.95, abs=0.02)
    assert view.weights() != before
    assert view.complaints == []
    context.close()


def test_the_answer_to_1_1_is_shown_when_asked_for(context: "BrowserContext", page: Path) -> None:
    view = TheoryTab(context, f"{page.as_uri()}#task=1.1")
    keys = np.array(describe_theory()["copying"]["keys"])
    assert view.tab.locator(".plane .margin").count() == 0
    view.tab.click('[data-control="reveal"]')
    found = reach(keys, [0])
    view.wait("text => document.querySelector('.said-now').textContent.includes(text)", f"{found.margin:.3f}")
    assert view.weights()[0] >= 0.99
    hidden = [j for j in range(8) if not reach(keys, [j]).possible]
    assert view.tab.locator(".plane .hidden-key").count() == len(hidden) > 0
    view.tab.click(f'[data-choice="{hidden[0] + 1}"]')
    view.wait("document.querySelector('.said-now').textContent.includes('inside the hull')")
    assert view.fragment()["reveal"] == "yes"
    assert view.complaints == []


def test_two_keys_are_averaged_on_the_diagonal(context: "BrowserContext", page: Path) -> None:
    view = TheoryTab(context, f"{page.as_uri()}#task=1.2&q=1,1&s=5&m=12")
    assert view.weights()[:2] == pytest.approx([tied_weight(12, 2, 5)] * 2, abs=1e-5)
    view.tab.focus('[data-handle="q"]')
    view.tab.keyboard.press("ArrowLeft")
    view.wait_for_fragment("q")
    keys = np.eye(12)
    query = 5 * (0.95 * keys[0] + keys[1])
    assert view.weights()[:2] == pytest.approx(attend(query, keys, keys, 1.0).weights[:2], abs=1e-5)
    assert view.complaints == []


def table(view: TheoryTab) -> list[list[float]]:
    """The numbers below a cloud: rows of the mean and the deviation, two numbers in each cell."""
    rows = view.tab.eval_on_selector_all(
        ".numbers tbody tr",
        "rows => rows.map(row => [...row.querySelectorAll('td')].map(c => c.textContent))",
    )
    return [[float(number) for cell in row for number in cell.split("; ")] for row in rows[:2]]


@pytest.mark.parametrize("task", ["1.4", "1.5"])
def test_one_head_against_two(context: "BrowserContext", page: Path, task: str) -> None:
    view = TheoryTab(context, f"{page.as_uri()}#task={task}")
    view.wait("document.querySelector('.count').textContent === '2,000 samples'")
    view.tab.click('[data-control="reveal"]')
    view.wait("document.querySelector('.said-now').textContent.includes('copies one value')")
    values, betas = plane_values(8), (0.1, 0.1) if task == "1.4" else (0.5, 0.0)
    mean, deviation = table(view)
    for place, heads in ((2, [[20.0, 20.0]]), (6, [[20.0, 0.0], [0.0, 20.0]])):
        expected, covariance = output_moments(values, np.array(heads), betas)
        deviations = np.sqrt(np.diag(covariance))
        assert mean[place : place + 2] == pytest.approx(expected, abs=6e-4)
        assert deviation[place : place + 2] == pytest.approx(deviations, abs=6e-4)
        errors = 5 * deviations / math.sqrt(2000) + 2e-3
        assert (np.abs(np.array(mean[place - 2 : place]) - expected) < errors).all()
        assert deviation[place - 2] == pytest.approx(deviations[0], rel=0.25)
    assert deviation[0] > 3 * deviation[4]  # one head swings, two do not
    assert view.complaints == []


def test_a_cloud_grows_and_is_drawn_anew(chromium: "Chromium", page: Path) -> None:
    context = chromium.new_context(locale="en-GB", viewport={"width": 1200, "height": 900})
    view = TheoryTab(context, f"{page.as_uri()}#task=1.3")
    counted = "Number(document.querySelector('.count').textContent.replace(/\\D/g, ''))"
    first = view.tab.evaluate(counted)
    view.wait(f"{counted} > {first}")
    view.tab.click('[data-control="resample"]')
    assert view.wait_for_fragment("seed") == "2"
    assert view.tab.inner_text(".count") == "1 sample"
    view.tab.click('[data-control="one-more"]')
    view.wait(f"{counted} === 2")
    time.sleep(0.1)
    assert view.tab.evaluate(counted) == 2
    view.tab.click('[data-control="reveal"]')  # glides, and queries that see the lengths do not scatter
    view.wait("document.querySelector('.said-now').textContent.includes('second cloud is a point')")
    view.tab.click('[data-control="many"]')
    view.wait(f"{counted} > 100")
    _, deviation = table(view)
    assert deviation[4:] == pytest.approx([0, 0, 0, 0], abs=2e-3)
    assert view.complaints == []
    context.close()


def test_the_inputs_of_1_6_cannot_reach_u_b(context: "BrowserContext", page: Path) -> None:
    view = TheoryTab(context, f"{page.as_uri()}#task=1.6")
    view.wait("document.querySelector('.said-now').textContent.includes('0.576')")
    view.tab.click('[data-control="reveal"]')
    view.wait("document.querySelector('.said-now').textContent.includes('0.63 B above')")
    view.tab.focus('[data-control="B"]')
    view.tab.keyboard.press("End")
    view.tab.focus('[data-control="d"]')
    view.tab.keyboard.press("End")
    view.wait("document.querySelector('.said-now').textContent.includes('c2 = ua + ud.')")
    assert view.complaints == []


def test_the_matrices_of_1_7_are_found_by_clicking(context: "BrowserContext", page: Path) -> None:
    view = TheoryTab(context, f"{page.as_uri()}#task=1.7")
    for name in "QV":
        view.tab.click(f'[data-control="{name}-zero"]')
    for entry in ("Q30", "Q23", "V11", "V22", "V22"):
        view.tab.click(f'[data-entry="{entry}"]')
    view.wait("document.querySelector('.said-now').textContent.startsWith('2 of 2')")
    assert view.tab.locator(".near").count() == 2
    assert view.fragment()["V"] == "00000p0000n00000"
    assert view.complaints == []


@pytest.mark.parametrize("task", list(EXERCISES)[:7])
def test_a_question_comes_with_its_hints_and_the_command_that_grades(
    context: "BrowserContext", page: Path, task: str
) -> None:
    view = TheoryTab(context, f"{page.as_uri()}#task={task}")
    question = EXERCISES[task]
    assert question.title in view.tab.inner_text(".question h2")
    assert view.tab.locator(".hints li").count() == 0
    for number in range(1, len(question.hints) + 1):
        view.tab.click('[data-control="hint"]')
        assert view.tab.locator(".hints li").count() == number
    assert view.tab.locator('[data-control="hint"]').is_hidden()
    view.tab.click('[data-control="again"]')  # the picture alone is as at the start
    assert view.tab.locator(".hints li").count() == len(question.hints)
    view.wait(
        "hints => new URLSearchParams(location.hash.slice(1)).get('hints') === hints",
        str(len(question.hints)),
    )
    assert question.answer is not None
    commands = view.tab.locator(".command").all_inner_texts()
    assert commands == [
        f"augenmerk theory check {task} --query '{question.answer.prompt}'",
        "augenmerk serve --open",
    ]
    assert view.tab.locator("form").count() == 0
    assert view.complaints == []


@pytest.mark.parametrize(
    ("size", "look"),
    [((360, 740), "light"), ((360, 740), "projector"), ((1200, 900), "dark"), ((1920, 1080), "projector")],
)
def test_all_pages_fit_in_all_looks(
    chromium: "Chromium", page: Path, size: tuple[int, int], look: str
) -> None:
    context = chromium.new_context(
        locale="de-DE" if look == "dark" else "en-GB",
        viewport={"width": size[0], "height": size[1]},
        color_scheme="dark" if look == "dark" else "light",
        reduced_motion="reduce",
    )
    theme = "&theme=projector" if look == "projector" else ""
    view = TheoryTab(context, f"{page.as_uri()}#task=play{theme}")
    for task in TASKS:
        view.tab.click(f'[data-task="{task}"]')
        view.wait("task => document.querySelector('.tasks [aria-current]').dataset.task === task", task)
        view.wait("document.querySelector('.theory').dataset.drawn === ''")
        assert view.tab.evaluate("document.documentElement.scrollWidth <= innerWidth"), task
        paper = view.tab.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (sum(map(int, re.findall(r"\d+", paper)[:3])) < 200) == (look == "dark")
        if look == "projector":
            assert view.fragment()["theme"] == "projector"
    assert view.tab.get_attribute("html", "lang") == ("de" if look == "dark" else "en")
    assert view.complaints == []
    context.close()


def test_the_switches_are_in_the_address(context: "BrowserContext", page: Path) -> None:
    view = TheoryTab(context, f"{page.as_uri()}#task=1.2")
    view.tab.select_option("#language", "de")
    view.tab.select_option("#theme", "dark")
    view.wait("document.querySelector('.theory').dataset.drawn === ''")
    assert view.fragment() == {"task": "1.2", "language": "de", "theme": "dark"}
    assert "Hinweise" in view.tab.inner_text(".work")
    assert "Zwei Werte mitteln" in view.tab.inner_text(".question")
    view.tab.click('[data-task="1.3"]')
    view.wait("document.querySelector('.tasks [aria-current]').dataset.task === '1.3'")
    assert view.fragment() == {"task": "1.3", "language": "de", "theme": "dark"}
    assert view.complaints == []


@pytest.mark.parametrize(
    "fragment",
    [
        f"task={HOSTILE}",
        "task=1.1&keys=1,2;x,3;4,5&q=1e9,0&c=NaN&target=99&values=;;;",
        "task=1.4&q=1&q1=,&s=-4&beta=0&m=1e9&seed=0",
        f"task=1.7&K={HOSTILE}&Q=zzzz&B=1000",
        "task=1.1&keys=0,0;0,0;0,0&q=0,0",
        "task=play&keys=" + ";".join(["1,1"] * 500),
        "task=1.1&values=0,0;1,1;0,1",
    ],
)
def test_an_address_that_makes_no_sense_does_no_harm(
    context: "BrowserContext", page: Path, fragment: str
) -> None:
    view = TheoryTab(context, f"{page.as_uri()}#{fragment}")
    view.wait("document.querySelector('.said-now').textContent !== ''")
    assert "NaN" not in view.tab.inner_text("main")
    assert "pwned" not in view.tab.title()
    assert view.complaints == []


def test_a_folder_works_on_a_web_server(chromium: "Chromium", tmp_path: Path) -> None:
    answer = run_json("export", "--theory", "--out", tmp_path / "site")
    assert answer == {"file": str(tmp_path / "site" / "index.html")}
    context = chromium.new_context()
    context.route(
        "http://page.test/**",
        lambda route: route.fulfill(
            path=tmp_path / "site" / (route.request.url.split("/")[3].partition("?")[0] or "index.html")
        ),
    )
    view = TheoryTab(context, "http://page.test/")
    assert len(view.weights()) == 5
    assert view.complaints == []
    context.close()


def test_the_page_is_one_file_that_runs_only_its_own_script(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    [policy] = re.findall(r'Content-Security-Policy" content="(.*?)"', text)
    scripts = re.findall(r"<script(.*?)>(.*?)</script>", text, re.S)
    assert len(scripts) == 2
    for tag, content in (
        ("style", re.findall(r"<style>(.*?)</style>", text, re.S)[0]),
        ("script", scripts[1][1]),
    ):
        digest = b64encode(sha256(content.encode()).digest()).decode()
        assert f"{tag}-src &#39;sha256-{digest}&#39;" in policy
    assert policy.startswith("default-src &#39;none&#39;")
    data = json.loads(scripts[0][1])
    assert [each["task"] for each in data["questions"]] == list(TASKS[1:])
    assert data["questions"][1]["question"] == EXERCISES["1.2"].text
    assert data["questions"][1]["hints"] == list(EXERCISES["1.2"].hints)


def test_what_cannot_be_exported_is_refused(tmp_path: Path) -> None:
    out = tmp_path / "theory.html"
    out.write_text("mine", encoding="utf-8")
    assert "already there" in fails_with_a_sentence("export", "--theory", "--out", out)
    assert out.read_text(encoding="utf-8") == "mine"
    place = tmp_path / "other.html"
    for extra in (("runs/mine",), ("--beam", 3), ("--example", "Ein Hund.")):
        assert "leave out" in fails_with_a_sentence("export", *extra, "--theory", "--out", place)
    assert not place.exists()
