// The live panel of a turn. Untrusted text only ever becomes text nodes; the kernel has made hidden
// characters in it visible. State is in the model's traits: a view can be made anew at any time.

const FIRST_ROWS = 200; // rows drawn at once; the rest on demand
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
  root.append(status.node, todos, place);
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
    const card = (question.kind === "choice" ? picker : permission)(question, word, say);
    place.append(card.node);
    greet(card, root, hadFocus, question.kind === "choice");
  };

  const listeners = [
    ["change:status", status.draw],
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
  const active = document.activeElement;
  const idle = !active || active === document.body;
  setTimeout(() => {
    if (!root.isConnected) return;
    const box = root.getBoundingClientRect();
    const near = box.bottom > -innerHeight && box.top < 2 * innerHeight;
    if (near && !isEditable(document.activeElement)) root.scrollIntoView({ block: "nearest" });
    if (hadFocus || idle || (mayFocus && !isEditable(document.activeElement))) {
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

function permission(question, word, say) {
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
    ...question.displays.map((display) => drawing(display, word)),
    facts([
      [word("touches"), question.touches.join(", ")],
      [word("why"), question.reason],
    ]),
    actions,
    place,
    h("div", { class: "maia-hint" }, word("keys")),
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

function drawing(display, word) {
  if (display.type === "rows") return rowsBox(display, word);
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

function rowsBox(display, word) {
  const draw = (rows) => rows.map(([kind, words]) => h("div", { class: `maia-row-${kind}` }, words));
  const title = display.new ? `${display.title} (${word("new_file")})` : display.title;
  const box = h("div", { class: "maia-rows", tabindex: "0", "aria-label": title }, ...draw(display.rows.slice(0, FIRST_ROWS)));
  const parts = h("div", {}, title ? h("div", { class: "maia-title" }, title) : null, box);
  if (display.rows.length > FIRST_ROWS) {
    const more = h(
      "button",
      {
        type: "button",
        class: "maia-link",
        onclick: () => {
          box.append(...draw(display.rows.slice(FIRST_ROWS)));
          more.remove();
          box.focus();
        },
      },
      word("show_all", { count: display.rows.length }),
    );
    parts.append(more);
  }
  return parts;
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

export default {
  // The model exists before any view: it says at once that this front-end can show and answer.
  initialize({ model }) {
    model.send({ kind: "ready" });
  },
  render,
};
