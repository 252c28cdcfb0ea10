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

/** Names and what they are; nothing where nothing is known. */
function facts(rows) {
  const known = rows.filter(([, values]) => values.length);
  if (!known.length) return [];
  // Each value by itself: one that is written from right to left must not turn its neighbours around.
  const all = (values) => values.flatMap((value, place) => [...(place ? [", "] : []), h("bdi", {}, value)]);
  return [h("dl", {}, ...known.flatMap(([name, values]) => [h("dt", {}, name), h("dd", {}, ...all(values))]))];
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
    const draw = ([kind, words]) => h("div", { class: `maia-row-${kind.replace("-", " maia-row-")}` }, words);
    box.append(h("div", { class: "maia-piece" }, ...rows.map(draw)));
    taken += rows.length;
    shown += rows.filter(([kind]) => kind !== "hunk" && !kind.endsWith("-on")).length;
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

const todoRows = (items) =>
  items.map((item) =>
    h("li", { class: `maia-${item.status}`, "aria-current": item.status === "in_progress" && "step" }, h("span", {}, item.text)),
  );
