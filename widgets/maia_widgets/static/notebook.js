// -- the notebook around the panel ------------------------------------------------------------------

/** The kernel's connection and the notebook's model of JupyterLab, which a widget's manager has; both
 * are undefined where a front-end does not show them. */
const surroundings = (model) => ({
  kernel: model.widget_manager?.kernel ?? undefined,
  context: model.widget_manager?.context ?? undefined,
});

const isOurs = (output) =>
  output.output_type === "display_data" && [WIDGET, "text/markdown", "text/html"].some((kind) => kind in output.data);
const showsPanel = (model, output) => !!model.get("own_id") && output.data?.[WIDGET]?.model_id === model.get("own_id");
const asOutput = (data) => ({ output_type: "display_data", data, metadata: {} });

/** Writes the outputs of a turn into the notebook of a page that did not run its cell. */
function scribe(model, context) {
  let cell = null;
  let ids = []; // the display ids of the cell's outputs, null for those of others
  const mine = () => cell && !cell.isDisposed && cell.outputs.length === ids.length;
  const settle = (count) => {
    if (!mine()) return;
    cell.executionState = "idle";
    if (count) cell.executionCount = count;
  };
  const restore = ({ cell: id, outputs, ended, count }) => {
    cell = [...(context?.model?.cells ?? [])].find((one) => one.id === id && one.type === "code");
    if (!cell) return false;
    const there = cell.outputs.toJSON();
    // Saved during this turn? If not, what is there is of an earlier one.
    const same = there.some((output) => showsPanel(model, output));
    const rest = [...outputs];
    const wanted = [];
    const put = ({ id: key, data }) => wanted.push([key, asOutput(data)]);
    for (const output of same ? there : []) {
      if (!isOurs(output)) wanted.push([null, output]);
      else if (rest.length) put(rest.shift());
    }
    rest.forEach(put);
    if (there.length > wanted.length) cell.outputs.clear();
    wanted.forEach(([, output], place) => {
      if (place >= cell.outputs.length) cell.outputs.add(output);
      else if (JSON.stringify(there[place]) !== JSON.stringify(output)) cell.outputs.set(place, output);
    });
    ids = wanted.map(([key]) => key);
    if (ended) settle(count);
    else cell.executionState = "running";
    return true;
  };
  const put = ({ id, data }) => {
    if (!mine()) return; // run again or cleared meanwhile
    const place = ids.indexOf(id);
    if (place >= 0) cell.outputs.set(place, asOutput(data));
    else {
      ids.push(id);
      cell.outputs.add(asOutput(data));
    }
  };
  return { restore, put, settle };
}

/** Calls `done` when the notebook, as it is now, has been saved; where that cannot be seen, at once. */
function whenSaved(context, done) {
  if (!context?.saveState?.connect) return done();
  let started = false;
  const follow = (_, state) => {
    if (state.startsWith("started")) started = true;
    if (!started || !state.startsWith("completed")) return;
    context.saveState.disconnect(follow);
    done();
  };
  context.saveState.connect(follow);
}

/** Puts one line in the place of the panel's views, so that none is left in the file. */
function replaceViews(model, context, words) {
  for (const cell of context?.model?.cells ?? []) {
    if (cell.type !== "code") continue;
    for (const [place, output] of cell.outputs.toJSON().entries()) {
      if (!showsPanel(model, output)) continue;
      cell.executionState = "idle";
      cell.outputs.set(place, asOutput({ "text/markdown": `**${words}**`, "text/plain": words }));
    }
  }
}

/** What the page does for the turn whether or not the panel is in view. */
function initialize({ model }) {
  const { kernel, context } = surroundings(model);
  const client = kernel?.clientId ?? "";
  const writer = scribe(model, context);
  const take = (message) => {
    if (message.kind === "who") model.send({ kind: "here", client });
    else if (message.kind === "finish") {
      writer.settle(message.count);
      whenSaved(context, () => model.send({ kind: "seen", client }));
    } else if (message.client !== client) return;
    else if (message.kind === "put") writer.put(message);
    else if (message.kind === "restore") {
      let done = false;
      try {
        done = writer.restore(message);
      } catch (error) {
        console.warn("MAIA cannot write into this notebook", error);
      }
      model.send({ kind: "restored", client, done });
      if (done && message.ended) whenSaved(context, () => model.send({ kind: "seen", client }));
    }
  };
  const status = (_, state) => {
    if (!GONE.includes(state)) return;
    kernel.statusChanged.disconnect(status);
    model.set("gone", true);
    replaceViews(model, context, (model.get("words") ?? {}).gone);
  };
  window.addEventListener("keydown", noticeTyping, true);
  kernel?.statusChanged?.connect(status);
  model.on("msg:custom", take);
  // The model exists before any view: it says at once that this front-end can show and answer.
  model.send({ kind: "ready", client });
  return () => {
    kernel?.statusChanged?.disconnect(status);
    model.off("msg:custom", take);
  };
}
