// The live panel of a turn. Untrusted text only ever becomes text nodes; the kernel has made hidden
// characters in it visible. State is in the model's traits: a view can be made anew at any time.

const QUIET = 1000; // ms without a key after which nobody is typing
const GONE = ["restarting", "autorestarting", "starting", "terminating", "dead"]; // of a kernel in a turn
const WIDGET = "application/vnd.jupyter.widget-view+json";
const ARMING = 300; // ms in which a new question takes no click or key: it may have been meant for something else

// Notebook pages listen for keys before we could: in the capture phase, on the document. So the keys
// of a panel are taken on the window, before them, given to `onkey` of the nodes around the target,
// and go no further. Typing, Tab and a focused button's Enter are the browser's and stay.
const onkey = new WeakMap();

const takeKeys = (root) => {
  const take = (event) => {
    if (!root.contains(event.target)) return;
    event.stopImmediatePropagation();
    for (let node = event.target; node && node !== root && !event.defaultPrevented; node = node.parentElement) {
      onkey.get(node)?.(event);
    }
  };
  window.addEventListener("keydown", take, true);
  return () => window.removeEventListener("keydown", take, true);
};

const h = (tag, props = {}, ...children) => {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "onkey") onkey.set(node, value);
    else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
};

const isEditable = (node) =>
  !!node && (node.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(node.tagName));

const plainKey = (event) => !(event.ctrlKey || event.metaKey || event.altKey);

let counter = 0;
const freshId = () => `maia-${++counter}`;

let typed = -Infinity; // when the last key was pressed that did not run a cell
const noticeTyping = (event) => {
  if (event.key !== "Enter" && !["Shift", "Control", "Alt", "Meta"].includes(event.key)) typed = performance.now();
};

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

// -- the panel ---------------------------------------------------------------------------------------

function render({ model, el }) {
  const word = (key, values = {}) =>
    (model.get("words")[key] ?? key).replace(/\{(\w+)\}/g, (_, name) => values[name] ?? "");
  const say = (message) => model.send(message);

  const root = h("section", {
    class: "maia",
    role: "group",
    "aria-label": word("label"),
  });
  const status = statusLine(model, word, say);
  const todos = h("ul", { class: "maia-todos", "aria-label": word("todos"), hidden: true });
  const place = h("div");
  const last = h("div", { hidden: true });
  root.append(status.node, todos, place, last);
  el.append(root);

  const drawTodos = () => {
    const items = model.get("todos") ?? [];
    todos.hidden = items.length === 0;
    todos.replaceChildren(...todoRows(items));
  };

  let shown = null;
  const drawQuestion = () => {
    const question = model.get("question") ?? {};
    if (shown === (question.id ?? null)) return;
    const hadFocus = place.contains(document.activeElement);
    shown = question.id ?? null;
    place.replaceChildren();
    if (shown === null) return;
    if (model.get("gone")) return;
    const card = (question.kind === "choice" ? picker : permission)(question, word, say, model);
    place.append(card.node);
    greet(card, root, hadFocus, question.kind === "choice");
  };

  // What is left where the notebook cannot be written: the kernel has gone, or the answer as text.
  const drawLast = () => {
    const gone = model.get("gone");
    const answer = model.get("answer");
    if (gone) {
      status.node.hidden = true;
      place.replaceChildren();
    }
    last.hidden = !gone && !answer;
    last.replaceChildren(
      ...(answer ? [h("div", { class: "maia-hint" }, word("elsewhere")), h("pre", { class: "maia-answer" }, answer)] : []),
      ...(gone ? [h("div", { class: "maia-gone", role: "status" }, word("gone"))] : []),
    );
  };

  const listeners = [
    ["change:status", status.draw],
    ["change:answer", drawLast],
    ["change:gone", drawLast],
    ["change:todos", drawTodos],
    ["change:question", drawQuestion],
  ];
  for (const [name, draw] of listeners) {
    model.on(name, draw);
    draw();
  }
  const timer = setInterval(status.tick, 1000);
  const leaveKeys = takeKeys(root);
  return () => {
    leaveKeys();
    clearInterval(timer);
    for (const [name, draw] of listeners) model.off(name, draw);
  };
}

/** Brings a new question into view, and takes the keyboard only where nobody is using it. */
function greet(card, root, hadFocus, mayFocus) {
  setTimeout(() => {
    if (!root.isConnected) return;
    const box = root.getBoundingClientRect();
    const near = box.bottom > -innerHeight && box.top < 2 * innerHeight;
    if (near && !isEditable(document.activeElement)) root.scrollIntoView({ block: "nearest" });
    const active = document.activeElement;
    const cell = root.closest(".jp-Cell, .cell");
    const here = !active || active.contains(root) || cell?.contains(active);
    const typing = isEditable(active) || performance.now() - typed < QUIET;
    if (hadFocus || (!typing && (here || mayFocus))) {
      card.focus.focus({ preventScroll: true });
    }
  }, 0);
}

function statusLine(model, word, say) {
  const label = h("span", { class: "maia-status-label", role: "status", "aria-live": "polite" });
  const seconds = h("span", { class: "maia-seconds", "aria-hidden": "true" });
  const facts = h("span", { class: "maia-facts" });
  const stop = h(
    "button",
    {
      type: "button",
      class: "maia-stop",
      title: word("stop_title"),
      onclick: () => {
        stop.disabled = true;
        say({ kind: "stop" });
      },
    },
    word("stop"),
  );
  const node = h(
    "div",
    { class: "maia-status" },
    h("span", { class: "maia-spinner", "aria-hidden": "true" }),
    label,
    seconds,
    facts,
    stop,
  );
  let began = null;
  const tick = () => {
    if (began === null) return;
    const whole = Math.max(0, Math.floor((performance.now() - began) / 1000));
    const rest = String(whole % 60).padStart(2, "0");
    seconds.textContent = whole < 60 ? `${whole} s` : `${Math.floor(whole / 60)}:${rest}`;
  };
  const draw = () => {
    const now = model.get("status") ?? {};
    node.hidden = !now.label;
    node.classList.toggle("maia-asking", !!now.asking);
    if (label.textContent !== now.label) label.textContent = now.label ?? "";
    label.title = now.label ?? "";
    if (now.elapsed !== undefined) began = performance.now() - now.elapsed * 1000;
    const known = [now.model, now.tokens, now.money].filter(Boolean);
    facts.replaceChildren(...known.map((fact) => h("span", {}, fact)));
    stop.hidden = !now.stop;
    tick();
  };
  return { node, draw, tick };
}

const todoRows = (items) =>
  items.map((item) =>
    h("li", { class: `maia-${item.status}`, "aria-current": item.status === "in_progress" && "step" }, h("span", {}, item.text)),
  );

function permission(question, word, say, model) {
  const summaryId = freshId();
  const place = h("div", { class: "maia-form", hidden: true });
  const actions = h("div", { class: "maia-actions" });
  let armed = false;
  let sent = false;

  const answer = (fields) => {
    if (sent || !armed) return;
    sent = true;
    for (const control of node.querySelectorAll("button, input")) control.disabled = true;
    say({ kind: "answer", id: question.id, ...fields });
  };
  const button = (name, label, onclick, extra = "") =>
    h("button", { type: "button", class: `maia-${name} ${extra}`.trim(), disabled: true, onclick }, label);
  const leaveForm = () => {
    place.hidden = true;
    place.replaceChildren();
    actions.hidden = false;
    node.focus({ preventScroll: true });
  };
  const openForm = (...parts) => {
    actions.hidden = true;
    place.hidden = false;
    place.replaceChildren(...parts);
    const field = place.querySelector("input");
    field.focus();
    field.select();
    place.scrollIntoView({ block: "nearest" });
  };

  const askReason = () =>
    openForm(
      ...textField(word("reason"), "maia-reason", "", (words) => answer({ choice: "deny", message: words })),
      formButtons(word, leaveForm, "maia-send", word("send"), () =>
        answer({ choice: "deny", message: place.querySelector("input").value }),
      ),
    );
  const askRule = () => {
    const send = () => {
      const rule = place.querySelector("input").value.trim();
      if (rule) answer({ choice: "always", rule: rule === question.offer.rule ? "" : rule });
    };
    // Enter does not write a rule: what is allowed for ever is allowed by the button.
    openForm(
      ...textField(word("rule"), "maia-rule maia-code", question.offer.rule, () => {}),
      h("div", { class: "maia-hint" }, word("rule_file", { file: question.offer.file })),
      formButtons(word, leaveForm, "maia-write", word("write_rule"), send),
    );
  };

  actions.append(
    button("once", word("once"), () => answer({ choice: "once" }), "maia-primary"),
    ...(question.offer
      ? [
          button("session", word("session"), () => answer({ choice: "session" })),
          button("always", word("always") + "…", askRule),
        ]
      : []),
    h("span", { class: "maia-gap" }),
    button("deny", word("deny"), () => answer({ choice: "deny" })),
    button("tell", word("tell"), askReason),
  );

  const node = h(
    "div",
    {
      class: "maia-card",
      role: "group",
      tabindex: "0",
      "aria-label": word("question"),
      "aria-describedby": summaryId,
      onkey: (event) => {
        if (!plainKey(event) || isEditable(event.target)) return;
        if (event.key === "o" || event.key === "y") answer({ choice: "once" });
        else if (event.key === "n" || event.key === "Escape") answer({ choice: "deny" });
        else return;
        event.preventDefault();
      },
    },
    h(
      "div",
      { class: "maia-head", id: summaryId },
      h("span", { class: "maia-tool" }, question.tool),
      h("span", { class: "maia-summary" }, question.summary),
      question.agent ? h("span", { class: "maia-badge" }, word("agent", { agent: question.agent })) : null,
    ),
    ...question.displays.map((display, number) =>
      drawing(display, word, (from, draw) => nextRows(model, { id: question.id, display: number, from }, draw)),
    ),
    facts([
      [word("touches"), question.touches.join(", ")],
      [word("why"), question.reason],
    ]),
    actions,
    place,
    h("div", { class: "maia-hint maia-keys" }, word("keys")),
  );
  setTimeout(() => {
    armed = true;
    for (const control of actions.querySelectorAll("button")) control.disabled = sent;
  }, ARMING);
  return { node, focus: node };
}

function textField(label, classes, value, onenter) {
  const id = freshId();
  const field = h("input", {
    type: "text",
    id,
    class: classes,
    value,
    autocomplete: "off",
    spellcheck: "false",
    onkey: (event) => {
      if (event.key === "Escape") field.closest(".maia-form").querySelector(".maia-back").click();
      else if (event.key === "Enter" && field.value.trim()) onenter(field.value);
      else return;
      event.preventDefault();
    },
  });
  return [h("label", { for: id }, label), field];
}

function formButtons(word, leave, name, label, send) {
  return h(
    "div",
    { class: "maia-actions" },
    h("button", { type: "button", class: `${name} maia-primary`, onclick: send }, label),
    h("button", { type: "button", class: "maia-back", onclick: leave }, word("back")),
  );
}

function facts(rows) {
  const known = rows.filter(([, value]) => value);
  if (!known.length) return null;
  return h("dl", {}, ...known.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
}

function drawing(display, word, more) {
  if (display.type === "rows") return rowsBox(display, word, more);
  if (display.type === "todos") return h("ul", { class: "maia-todos" }, ...todoRows(display.items));
  if (display.type === "table") {
    const [head, ...body] = display.rows;
    const cells = (row, tag) => h("tr", {}, ...row.map((cell) => h(tag, {}, cell)));
    return h("table", {}, cells(head, "th"), ...body.map((row) => cells(row, "td")));
  }
  if (display.type === "image" && /^image\/(png|jpeg|gif|webp)$/.test(display.media_type)) {
    return h("img", { alt: "", src: `data:${display.media_type};base64,${display.data}` });
  }
  return null;
}

/** Asks the kernel for the rows that follow. */
function nextRows(model, asked, draw) {
  const take = (message) => {
    if (message.kind !== "rows" || Object.keys(asked).some((key) => message[key] !== asked[key])) return;
    model.off("msg:custom", take);
    draw(message.rows);
  };
  model.on("msg:custom", take);
  model.send({ kind: "rows", ...asked });
}

/** Rows of a text or a diff; those that the card did not bring come when one scrolls or asks. */
function rowsBox(display, word, more) {
  const title = display.new ? `${display.title} (${word("new_file")})` : display.title;
  const box = h("div", { class: "maia-rows", tabindex: "0", "aria-label": title });
  const link = h("button", { type: "button", class: "maia-link", onclick: () => load() });
  let taken = 0; // rows
  let shown = 0; // lines: rows that are not the head of a hunk
  let loading = false;
  const add = (rows) => {
    const draw = ([kind, words]) => h("div", { class: `maia-row-${kind}` }, words);
    box.append(h("div", { class: "maia-piece" }, ...rows.map(draw)));
    taken += rows.length;
    shown += rows.filter(([kind]) => kind !== "hunk").length;
    loading = false;
    link.hidden = taken >= display.total || !rows.length;
    const number = (value) => value.toLocaleString();
    link.textContent = word("show_more", { shown: number(shown), count: number(display.lines) });
  };
  const load = () => {
    if (loading || taken >= display.total) return;
    loading = true;
    more(taken, add);
  };
  box.addEventListener("scroll", () => {
    if (box.scrollTop + 2 * box.clientHeight > box.scrollHeight) load();
  });
  add(display.rows);
  const head = h("div", { class: "maia-title" }, title, h("span", { class: "maia-size" }, display.size));
  return h("div", {}, title ? head : null, box, link);
}

function picker(question, word, say) {
  const options = question.options.map((option, index) => ({ ...option, index, id: freshId() }));
  let matching = options;
  let current = 0;
  let sent = false;

  const answer = (index) => {
    if (sent) return;
    sent = true;
    filter.disabled = true;
    say({ kind: "answer", id: question.id, index });
  };
  const rows = () => {
    let group = "";
    return matching.flatMap((option, place) => {
      const heading = option.group && option.group !== group ? h("div", { class: "maia-group", role: "presentation" }, option.group) : null;
      group = option.group || group;
      const row = h(
        "div",
        {
          class: "maia-option",
          role: "option",
          id: option.id,
          "aria-selected": String(place === current),
          onclick: () => answer(option.index),
        },
        h("span", {}, option.label),
        h("span", {}, option.detail),
      );
      return heading ? [heading, row] : [row];
    });
  };
  const draw = () => {
    list.replaceChildren(...(matching.length ? rows() : [h("div", { class: "maia-group" }, word("nothing"))]));
    const chosen = matching[current];
    for (const node of [list, filter]) {
      if (chosen) node.setAttribute("aria-activedescendant", chosen.id);
      else node.removeAttribute("aria-activedescendant");
    }
    list.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest" });
  };
  const move = (step) => {
    if (!matching.length) return;
    current = (current + step + matching.length) % matching.length;
    draw();
  };
  const takeKey = (event) => {
    if (!plainKey(event)) return;
    const typing = event.target === filter;
    if (event.key === "ArrowDown" || (!typing && event.key === "j")) move(1);
    else if (event.key === "ArrowUp" || (!typing && event.key === "k")) move(-1);
    else if (event.key === "Enter" && matching.length) answer(matching[current].index);
    else if (event.key === "Escape") answer(null);
    else if (!typing && event.key.length === 1) {
      filter.focus(); // the key itself lands in the field
      return;
    } else return;
    event.preventDefault();
  };
  const listId = freshId();
  const filter = h("input", {
    type: "text",
    class: "maia-filter",
    role: "combobox",
    placeholder: word("filter"),
    "aria-label": word("filter"),
    "aria-controls": listId,
    "aria-expanded": "true",
    autocomplete: "off",
    spellcheck: "false",
    oninput: () => {
      const parts = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
      const text = (option) => `${option.group} ${option.label} ${option.detail}`.toLowerCase();
      matching = options.filter((option) => parts.every((part) => text(option).includes(part)));
      current = 0;
      draw();
    },
  });
  const list = h("div", { class: "maia-options", role: "listbox", id: listId, tabindex: "0", "aria-label": question.title });
  const node = h(
    "div",
    { class: "maia-card maia-picker", role: "group", "aria-label": question.title, onkey: takeKey },
    h("div", { class: "maia-head" }, h("span", { class: "maia-tool" }, question.title)),
    h("div", { class: "maia-form" }, filter),
    list,
    h("div", { class: "maia-hint" }, word("picker_keys")),
  );
  draw();
  return { node, focus: list };
}

export default { initialize, render };
