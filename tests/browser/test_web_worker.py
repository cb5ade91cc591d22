"""The worker of an exported page, in a browser: it answers all messages but those that newer ones replace."""

import json
from base64 import b64encode
from typing import TYPE_CHECKING

from augenmerk.translation import load
from augenmerk.web.bundle import make_bundle
from tests.support.browser import open_engine

if TYPE_CHECKING:
    from playwright.sync_api import Browser as Chromium

ASK_ALL = """async ([settings, weights, [long, ...messages]]) => {
  const worker = new Worker("/worker.js", { type: "module" });
  const answers = {};
  let arrived = () => {};
  worker.onmessage = ({ data: { id, ...answer } }) => {
    answers[id] = answer;
    arrived();
  };
  const send = (message, moved = []) => worker.postMessage(message, moved);
  const wait = async (id) => {
    while (!(id in answers)) await new Promise((resolve) => { arrived = resolve; });
  };
  send({ id: 0, call: "dance" });
  const bytes = Uint8Array.from(atob(weights), (byte) => byte.charCodeAt(0)).buffer;
  send({ id: "load", call: "load", settings: JSON.parse(settings), weights: bytes }, [bytes]);
  send(long);
  send({ id: "meanwhile", call: "predict", text: "Hund", count: 3 });
  await wait("meanwhile"); // so the long one is being computed
  for (const message of messages) send(message);
  for (const { id } of [long, ...messages]) await wait(id);
  worker.terminate();
  return answers;
}"""


def test_a_worker_answers_every_message(chromium: "Chromium") -> None:
    translator, text = load(), "Der Hund schläft."
    bundle = make_bundle(translator, "bundled")
    bundle.settings["config"]["search"] |= {"max_length": 10_000, "max_ratio": 0.0}
    long = {"call": "translate", "text": "Hund " * 100, "beam": 50, "n_best": 50}
    messages = [
        {"id": 1, "key": "typed", **long},
        {"id": 2, "key": "other", **long},
        {
            "id": 3,
            "call": "predict",
            "text": text,
            "prefix": [40],
            "weights": None,
            "count": 2,
            "key": "typed",
        },
        {"id": 4, "call": "wanted", "text": text, "prefix": [40], "token": 50},
        {"id": 5, "call": "translate", "text": text, "prefix": [0]},
        {"id": 6, "call": "cancel", "key": "other"},
        {"id": 7, "call": "translate", "text": text, "beam": 2, "key": "typed"},
        {"id": 8, "call": "dance"},
    ]
    page = open_engine(chromium)
    weights = b64encode(bundle.weights).decode()
    answers = page.evaluate(ASK_ALL, [json.dumps(bundle.settings), weights, messages])
    page.close()
    assert answers["0"] == {"error": {"code": "notLoaded", "values": {}}}
    assert answers["load"] == {"result": {}}
    assert len(answers["meanwhile"]["result"]["tokens"]) == 3
    # A newer message with the same key replaces an older one, whether or not that is being computed.
    assert answers["1"] == answers["2"] == answers["3"] == {"cancelled": True}
    assert answers["4"]["result"]["probability"] >= answers["4"]["result"]["own_probability"]
    most = translator.tokenizers.target.size - 1
    assert answers["5"] == {"error": {"code": "badId", "values": {"id": 0, "least": 3, "most": most}}}
    assert answers["6"] == {"result": {}}
    assert answers["7"]["result"]["translation"] == translator.translate(text, beam=2).text
    assert answers["8"] == {"error": {"code": "noCall", "values": {"call": "dance"}}}
