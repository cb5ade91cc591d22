/** Stored examples, which the page shows before its model has been read. */

const STATUSES = { k: "kept", f: "finished", p: "pruned" };

/** Returns a stored translation in the shape of the engine's: its tree is stored in columns. */
export function restoreExample(stored) {
  return { ...stored, tree: stored.tree && restoreTree(stored.source, stored.tree) };
}

/** Makes the nodes of a tree from the columns that `web/examples.py` stores. */
function restoreTree(source, { parents, tokens, log_probabilities, statuses, texts, ...rest }) {
  const nodes = [];
  parents.forEach((parent, id) => {
    const before = parent === null ? null : nodes[parent];
    const step = before === null ? 0 : before.step + 1;
    nodes.push({
      id,
      parent,
      step,
      token: tokens[id],
      token_log_probability: log_probabilities[id] - (before?.log_probability ?? 0),
      log_probability: log_probabilities[id],
      score: log_probabilities[id] / Math.max(step, 1) ** rest.length_penalty,
      status: STATUSES[statuses[id]],
      text: texts[tokens[id]],
    });
  });
  return { source, ...rest, nodes };
}
