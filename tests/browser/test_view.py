"""The one way to draw (`page/view.js`), in a real browser."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import augenmerk.web

if TYPE_CHECKING:
    from playwright.sync_api import Browser

VIEW = Path(augenmerk.web.__file__).parent / "page" / "view.js"
Draw = Callable[[str], Any]


@pytest.fixture(scope="module")
def drawn(chromium: "Browser") -> "Iterator[Draw]":
    """Runs JavaScript that has `h`, `render` and an empty `root`."""
    tab = chromium.new_page()

    def run(script: str) -> Any:
        tab.set_content("<main></main>")
        module = VIEW.read_text("utf-8").replace("export function", "function")
        return tab.evaluate(f"() => {{ {module}; const root = document.querySelector('main'); {script} }}")

    yield run
    tab.close()


def test_what_is_described_is_there_and_nothing_becomes_markup(drawn: Draw) -> None:
    html = drawn(
        """render(root, h("p", { class: "a", title: "<b>", hidden: false, lang: null, inert: true },
                         "<i>", 5, null, false, [h("b", {}, "x"), [" y"]], 0));
           return root.innerHTML"""
    )
    assert html == '<p class="a" title="&lt;b&gt;" inert="">&lt;i&gt;5<b>x</b> y0</p>'


def test_elements_stay_and_change(drawn: Draw) -> None:
    kept, html = drawn(
        """const title = { 1: { title: "t" } };
           const view = (n) => [h("p", { class: "n" + n, ...title[n] }, "text " + n), h("hr")];
           render(root, ...view(1));
           const before = [...root.children];
           render(root, ...view(2));
           return [before.every((node, i) => node === root.children[i]), root.innerHTML];"""
    )
    assert (kept, html) == (True, '<p class="n2">text 2</p><hr>')


def test_keys_move_elements_with_focus_and_selection(drawn: Draw) -> None:
    assert drawn(
        """const view = (names) => names.map((key) => h("input", { key, value: key }));
           render(root, ...view(["one", "two", "three"]));
           const two = root.children[1];
           two.focus(); two.setSelectionRange(1, 2);
           render(root, ...view(["zero", "three", "two"]));
           return root.children[2] === two && document.activeElement === two && two.selectionStart === 1
             && [...root.children].map((node) => node.value).join() === "zero,three,two";"""
    )


def test_what_is_typed_stays_until_the_state_says_otherwise(drawn: Draw) -> None:
    values = drawn(
        """const seen = [], look = (value) => {
             render(root, h("input", { value })); seen.push(root.firstChild.value) };
           look("a"); root.firstChild.value = "typed"; look("a"); look("b"); look("");
           return seen;"""
    )
    assert values == ["a", "typed", "b", ""]


def test_a_select_has_its_value_among_new_options(drawn: Draw) -> None:
    values = drawn(
        """const seen = [], look = (value, options) => {
             render(root, h("select", { value }, options.map((each) => h("option", { value: each }, each))));
             seen.push(root.firstChild.value) };
           look("b", ["a", "b"]); look("b", ["b", "c"]); look("c", ["a", "b", "c"]);
           return seen;"""
    )
    assert values == ["b", "b", "c"]


def test_a_listener_is_replaced(drawn: Draw) -> None:
    assert drawn(
        """const clicks = [], view = (n) => h("button", { onclick: n ? () => clicks.push(n) : null });
           for (const n of [1, 2, 0]) { render(root, view(n)); root.firstChild.click(); }
           return clicks;"""
    ) == [1, 2]


def test_styles_and_svg(drawn: Draw) -> None:
    share, space, gone = drawn(
        """const view = (style) => h("svg", {}, h("g", { style }, h("title", {}, "t")));
           render(root, view({ "--share": 0.5 }));
           const title = root.querySelector("title"), [g] = root.firstChild.children;
           const share = g.style.getPropertyValue("--share");
           render(root, view({}));
           return [share, title.namespaceURI, g.style.getPropertyValue("--share")];"""
    )
    assert (share, gone) == ("0.5", "")
    assert space == "http://www.w3.org/2000/svg"


def test_children_that_are_somebody_elses_are_left_alone(drawn: Draw) -> None:
    assert drawn(
        """const own = (node) => node.append("x");
           for (const title of ["a", "b"]) render(root, h("div", { own, title }));
           const placed = document.createElement("u");
           render(root, h("div", { own, title: "c" }), placed, h("i"));
           const same = root.children[1] === placed;
           render(root, h("i"), placed);
           return same && root.lastChild === placed && root.children.length === 2;"""
    )


@pytest.mark.parametrize(
    ("after", "focused"),
    [
        ("[button('a'), button('b', true), button('c')]", "a"),  # disabled: beside it
        ("[button('a'), button('c')]", "c"),  # gone: what stands there now
        ("[]", "chosen"),  # nothing inside: what is chosen around it
    ],
)
def test_the_focus_stays_near(drawn: Draw, after: str, focused: str) -> None:
    assert (
        drawn(
            f"""const button = (key, disabled = false) => h("button", {{ key, id: key, disabled }});
           const inside = document.createElement("div");
           root.append(inside);
           root.insertAdjacentHTML("beforeend",
             "<button>x</button><button id=chosen aria-pressed=true></button>");
           render(inside, button("a"), button("b"), button("c"));
           document.getElementById("b").focus();
           render(inside, ...{after});
           return document.activeElement.id;"""
        )
        == focused
    )
