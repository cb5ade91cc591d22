"""How JavaScript modules become one script, and what is refused."""

import re
from pathlib import Path

import pytest

from augenmerk.base.errors import AugenmerkError
from augenmerk.web.joining import join_modules, list_modules
from augenmerk.web.templates import WEB

B = 'export const b = 1;\nexport async function* c() {\n  await b;\n}\nlet hidden = "b";\nhidden += b;\n'


def write_modules(folder: Path, **modules: str) -> Path:
    for name, text in modules.items():
        (folder / f"{name}.js").write_text(text, encoding="utf-8")
    return folder / "main.js"


def test_modules_are_joined_in_the_order_in_which_they_need_each_other(tmp_path: Path) -> None:
    main = write_modules(
        tmp_path,
        main='import { b } from "./b.js";\nimport {\n  a,\n} from "./a.js";\na(b);\n',
        b='import { a } from "./a.js";\n\nexport const b = a(1);\n',
        a="export function a(x) {\n  return x;\n}\n",
        unused="export const unused = 1;\n",
    )
    assert [path.name for path in list_modules(main)] == ["a.js", "b.js", "main.js"]
    assert join_modules(main) == (
        '"use strict";\n(() => {\n// -- a.js\n\nfunction a(x) {\n  return x;\n}\n\n'
        "// -- b.js\n\nconst b = a(1);\n\n// -- main.js\n\na(b);\n})();\n"
    )


def test_what_only_looks_like_a_module_stays(tmp_path: Path) -> None:
    kept = """const text = `
import { b } from "./b.js";
export const x = ${[1, 2].map((n) => `${n} export default`)};
`;
// import * as all from "./b.js";
/* export { a }; */
const pattern = /["'`/[{(]import/;
const ask = async (x) => [await x, await (async () => await x)()];
class Asker {
  async ask() {
    return await ask(1 / 2 / 3);
  }
}
console.log(text.import, text.export, pattern, Asker, 'await "', "it's", c, (text.length) / 2);
"""
    main = write_modules(tmp_path, b=B, main='import { b, c } from "./b.js";\n' + kept)
    assert f"// -- main.js\n\n{kept}" in join_modules(main)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("const d = await b;", "outside of an async function"),
        ("for await (const d of c()) console.log(d);", "outside of an async function"),
        ("if (b) {\n  await b;\n}", "outside of an async function"),
        ("const d = async () => b;\nawait d();", "outside of an async function"),
        ("const d = import.meta.url;", "is understood"),
        ("const d = `${import.meta.url}`;", "is understood"),
        ('const d = () => import("./b.js");', "is understood"),
        ('import * as all from "./b.js";', "is understood"),
        ('import all from "./b.js";', "is understood"),
        ('import { b as d } from "./b.js";', "is understood"),
        ('import "./b.js";', "is understood"),
        ('import { b } from "b";', "is understood"),
        ("import { b } from './b.js';", "is understood"),
        ('import { d } from "./b.js";', r"b\.js does not export d"),
        ('import { hidden } from "./b.js";', r"b\.js does not export hidden"),
        ("export default b;", "are exported, where declared"),
        ("export { b };", "are exported, where declared"),
        ('export * from "./b.js";', "are exported, where declared"),
        ("export let d = 1;", "are exported, where declared"),
        ("export const d = 1, e = 2;", "one name at a time"),
        ("let d, e;", "one name at a time"),
        ("export const { d } = { d: 1 };", "not a pattern"),
        ("const [d] = [1];", "not a pattern"),
        ("if (b) {\n  var d = 1;\n}", "`var` declares"),
        ("const hidden = 1;", r"b\.js declares hidden as well"),
        ("function b() {}", r"b\.js declares b as well"),
        ("const d = 1;\nclass d {}", "d is declared twice"),
        ("console.log(b)", "has no semicolon"),
        ('const d = "</script>";', "would end the script"),
        ("const d = b<!--b;", "would end the script"),
        ("const d = (b];", r"\] closes no bracket"),
        ("const d = (b;", r"\( is never closed"),
        ("const d = `${b`;", "has no end"),
        ('const d = "b;', "has no end"),
    ],
)
def test_a_module_that_cannot_be_joined_is_named_with_its_line(
    line: str, reason: str, tmp_path: Path
) -> None:
    main = write_modules(tmp_path, b=B, main=f'import {{ b, c }} from "./b.js";\n\n{line}\n')
    with pytest.raises(AugenmerkError, match=rf"main\.js, line [345]: .*{reason}"):
        join_modules(main)


def test_a_circle_of_imports_and_a_missing_module_are_refused(tmp_path: Path) -> None:
    main = write_modules(
        tmp_path,
        main='import { a } from "./a.js";\na();\n',
        a='\nimport { b } from "./b.js";\nexport const a = () => b;\n',
        b='import { a } from "./a.js";\nexport const b = () => a;\n',
    )
    with pytest.raises(AugenmerkError, match=r"b\.js, line 1: a\.js imports this module in turn"):
        join_modules(main)
    itself = write_modules(tmp_path.parent, main='import { x } from "./main.js";\nexport const x = 1;\n')
    with pytest.raises(AugenmerkError, match=r"main\.js, line 1: main\.js imports this module"):
        join_modules(itself)
    lacking = write_modules(tmp_path, lacking='import { x } from "./none.js";\nx();\n').with_name(
        "lacking.js"
    )
    with pytest.raises(AugenmerkError, match=r"none\.js: there is no such module"):
        join_modules(lacking)


@pytest.mark.parametrize("entry", ["page/start.js", "engine/worker.js", "theory/main.js"])
def test_the_modules_of_the_pages_can_be_joined(entry: str) -> None:
    script = join_modules(WEB / entry)
    assert not re.search(r"^(?:import|export)\b", script, re.M)
    assert len(re.findall(r"^// -- \w+\.js$", script, re.M)) == len(list_modules(WEB / entry))
