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
    const key = question.id === undefined ? null : `${question.id} ${question.round}`;
    if (shown === key) return;
    const hadFocus = place.contains(document.activeElement);
    shown = key;
    place.replaceChildren();
    if (shown === null) return;
    if (model.get("gone")) return;
    const card = CARDS[question.kind](question, { word, say, model });
    place.append(card.node);
    greet(card, root, hadFocus);
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
function greet(card, root, hadFocus) {
  setTimeout(() => {
    if (!root.isConnected) return;
    const box = root.getBoundingClientRect();
    const near = box.bottom > -innerHeight && box.top < 2 * innerHeight;
    if (near && !isEditable(document.activeElement)) root.scrollIntoView({ block: "nearest" });
    const active = document.activeElement;
    const cell = root.closest(".jp-Cell, .cell");
    const here = !active || active.contains(root) || cell?.contains(active);
    const typing = isEditable(active) || performance.now() - typed < QUIET;
    if (hadFocus || card.mustFocus || (!typing && (here || card.mayFocus))) {
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
    const mode = now.mode ? [h("span", { class: "maia-mode", title: word("mode") }, now.mode)] : [];
    facts.replaceChildren(...mode, ...known.map((fact) => h("span", {}, fact)));
    stop.hidden = !now.stop;
    tick();
  };
  return { node, draw, tick };
}

export default { initialize, render };
