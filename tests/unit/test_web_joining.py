"""How JavaScript modules become one script, and that those of the pages keep to the rule for that."""

import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from augenmerk.web.joining import join_modules, list_modules
from augenmerk.web.templates import WEB
from tests.support.node import NODE

DECLARED = re.compile(r"^(?:export )?(?:async )?(?:function\*?|class|const|let|var) ([\w$]+|.)", re.MULTILINE)
EXPORTED = re.compile(r"^export (?:async )?(?:function\*?|class|const) ([\w$]+)", re.MULTILINE)
IMPORTED = re.compile(r'^import \{([\w$\s,]+)\} from "([^"]+)";$', re.MULTILINE)
ENTRIES = [WEB / name for name in ("page/start.js", "engine/worker.js", "theory/main.js")]


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


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda path: path.parent.name)
def test_the_modules_of_the_pages_keep_to_the_rule(entry: Path, tmp_path: Path) -> None:
    paths = list_modules(entry)
    texts = {path: path.read_text(encoding="utf-8") for path in paths}
    declared = Counter(name for text in texts.values() for name in DECLARED.findall(text))
    assert [name for name, count in declared.items() if count > 1 or name in "[{"] == []
    for path, text in texts.items():
        assert len(re.findall(r"^import\b", text, re.MULTILINE)) == len(IMPORTED.findall(text)), path
        assert len(re.findall(r"^export\b", text, re.MULTILINE)) == len(EXPORTED.findall(text)), path
        for names, other in IMPORTED.findall(text):
            found = (path.parent / other).resolve()
            wanted = {name.strip() for name in names.split(",") if name.strip()}
            assert wanted <= set(EXPORTED.findall(texts[found])), (path, other)
            assert paths.index(found) < paths.index(path)
    script = join_modules(entry)
    assert not re.search(r"</script|<!--|^(?:import|export)\b|\bimport(?:\.meta|\()", script, re.M | re.I)
    if NODE is None:
        pytest.skip("no Node on this machine: `make` installs it")
    (tmp_path / "joined.cjs").write_text(script, encoding="utf-8")
    # Also of `await` outside of functions, Node says that it is no script.
    checked = subprocess.run([NODE, "--check", tmp_path / "joined.cjs"], capture_output=True, check=False)
    assert checked.returncode == 0, checked.stderr.decode()
