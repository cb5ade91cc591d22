/**
 * The view of a widget in a notebook, for anywidget: the exported page in a frame. The page has no access to the
 * notebook; the two send each other messages (see `start.js`).
 */

function render({ model, el }) {
  const frame = document.createElement("iframe");
  frame.title = "Augenmerk";
  frame.setAttribute("sandbox", model.get("sandbox"));
  frame.allow = "clipboard-write";
  frame.style.cssText = `width: 100%; border: 0; height: ${model.get("height") || 800}px`;
  frame.srcdoc = model.get("html");
  let shown = null; // the sentence that the page shows

  function tell() {
    const sentence = model.get("sentence");
    if (shown !== null && sentence !== shown) frame.contentWindow.postMessage({ sentence }, "*");
  }

  function hear({ source, data }) {
    if (source !== frame.contentWindow) return;
    if (data.height && !model.get("height")) frame.style.height = `${data.height}px`;
    if (data.sentence === undefined) return;
    const first = shown === null;
    shown = data.sentence;
    if (first && model.get("sentence") !== shown) {
      tell(); // it was set before the page was there
    } else {
      model.set("sentence", shown);
      model.set("translations", data.translations);
      model.save_changes();
    }
  }

  window.addEventListener("message", hear);
  model.on("change:sentence", tell);
  el.append(frame);
  return () => {
    window.removeEventListener("message", hear);
    model.off("change:sentence", tell);
  };
}

export default { render };
