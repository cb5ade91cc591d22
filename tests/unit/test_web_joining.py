"""How JavaScript modules become one script, what cannot be joined, and that the modules of the pages can."""

import re
import subprocess
from pathlib import Path

import pytest

from augenmerk.base.errors import AugenmerkError
from augenmerk.web.joining import join_modules, list_modules
from augenmerk.web.templates import WEB
from tests.support.node import NODE

ENTRIES = [WEB / name for name in ("page/start.js", "engine/worker.js", "theory/main.js")]


def write_modules(folder: Path, **modules: str) -> Path:
    for name, text in modules.items():
        (folder / f"{name}.js").write_text(text, encoding="utf-8")
    return folder / "main.js"


def run_script(script: str, path: Path, *options: str) -> str:
    if NODE is None:
        pytest.skip("no Node on this machine: `make` installs it")
    path.write_text(script, encoding="utf-8")
    ran = subprocess.run([NODE, *options, path], capture_output=True, check=False, text=True)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


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


LOOK_ALIKES = """\
// import { x } from "./nowhere.js";
/*
import { y } from "./nowhere.js";
await nothing;
*/
export const one = 1, two = 2;
export let three = `
import { z } from "./nowhere.js";
export default ${((a) => { return `${a}
export { a }`; })(one / two / 2)}`;
const pattern = /[/`"'] import/.test("import");
const of = { import: pattern, await: 1, get: async () => await three };
async function wait() {
  for await (const each of [of]) if (each.await) await each.get();
}
wait().then(() => console.log(of.import, one, two, three));
"""


def test_what_only_looks_like_an_import_or_an_export_stays_as_it_is(tmp_path: Path) -> None:
    main = write_modules(tmp_path, main=LOOK_ALIKES)
    assert list_modules(main) == [main]
    script = join_modules(main)
    assert LOOK_ALIKES.replace("export const", "const").replace("export let", "let").strip() in script
    said = run_script(script, tmp_path / "joined.cjs")
    assert said == 'false 1 2 \nimport { z } from "./nowhere.js";\nexport default 0.25\nexport { a }\n'


@pytest.mark.parametrize(
    "line",
    [
        'import "./other.js";',
        'import other from "./other.js";',
        'import * as other from "./other.js";',
        'import { other as mine } from "./other.js";',
        'import { other } from "elsewhere";',
        'const other = import("./other.js");',
        "const here = import.meta.url;",
        "export default 1;",
        "export { one };",
        'export * from "./other.js";',
        "const later = await one;",
        "if (one) { await one; }",
        "for await (const each of one) each();",
        "function other() {}",
    ],
)
def test_what_cannot_be_joined_is_refused_with_its_place(line: str, tmp_path: Path) -> None:
    text = f'import {{ other }} from "./other.js";\n\nconst one = () => {{ return `${{other}}`; }};\n{line}\n'
    main = write_modules(tmp_path, main=text, other="export function other() {}\n")
    with pytest.raises(AugenmerkError, match=r"main\.js:4: .*\.$"):
        join_modules(main)


def test_modules_that_import_each_other_are_refused(tmp_path: Path) -> None:
    a = '\nimport { b } from "./b.js";\nexport const a = 1;\n'
    b = 'import { a } from "./a.js";\nexport const b = 1;\n'
    main = write_modules(tmp_path, main='import { a } from "./a.js";\n', a=a, b=b)
    with pytest.raises(AugenmerkError, match=r"b\.js:1: a\.js imports this module"):
        join_modules(main)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda path: path.parent.name)
def test_the_modules_of_the_pages_become_a_script(entry: Path, tmp_path: Path) -> None:
    script = join_modules(entry)
    assert not re.search(r"</script|<!--", script, re.IGNORECASE)
    run_script(script, tmp_path / "joined.cjs", "--check")
