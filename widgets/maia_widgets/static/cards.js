// Cards: questions to the person. Each stands in a `frame`, which sends one answer, and none before
// it has been on the screen for a moment. `context` is {word, say, model} of the panel.

/** The frame of a card. `keys` names what a key does while the card has the focus and nobody types. */
function frame(question, { word, say }, { label, kind = "", keys = {}, hint = "" }) {
  const actions = h("div", { class: "maia-actions" });
  const place = h("div", { class: "maia-form", hidden: true });
  const keysHint = hint ? h("div", { class: "maia-hint maia-keys" }, hint) : null;
  const body = h("div", { class: "maia-body" });
  let armed = false;
  let sent = false;

  const node = h(
    "div",
    {
      class: `maia-card ${kind}`.trim(),
      role: "group",
      tabindex: "0",
      "aria-label": label,
      onkey: (event) => {
        const act = keys[event.key];
        if (!act || !plainKey(event) || isEditable(event.target)) return;
        event.preventDefault();
        if (armed && !sent) act();
      },
    },
    body,
    actions,
    place,
    keysHint,
  );
  /** Sends the answer, the first time. */
  const answer = (fields) => {
    if (sent || !armed) return;
    sent = true;
    for (const control of node.querySelectorAll("button, input, textarea")) control.disabled = true;
    say({ kind: "answer", id: question.id, ...fields });
  };
  const button = (name, words, onclick, extra = "") =>
    h("button", { type: "button", class: `maia-${name} ${extra}`.trim(), disabled: !armed || sent, onclick }, words);
  const leaveForm = () => {
    place.hidden = true;
    place.replaceChildren();
    actions.hidden = false;
    node.focus({ preventScroll: true });
  };
  /** Shows `parts` in the place of the actions, with a button that does and one that goes back. */
  const openForm = (parts, ...buttons) => {
    actions.hidden = true;
    place.hidden = false;
    const back = h("button", { type: "button", class: "maia-back", onclick: leaveForm }, word("back"));
    place.replaceChildren(...parts, h("div", { class: "maia-actions" }, ...buttons, back));
    const field = place.querySelector("input, textarea");
    field.focus({ preventScroll: true });
    if (field.tagName === "INPUT") field.select();
    place.scrollIntoView({ block: "nearest" });
  };
  /** A text for the model, sent with `fields` by Enter or by the button. */
  const openReason = (words, name, done, fields, { empty = false } = {}) => {
    const send = () => {
      const message = place.querySelector("input").value;
      if (empty || message.trim()) answer({ ...fields, message });
    };
    openForm(textField(words, "maia-reason", "", send), button(name, done, send, "maia-primary"));
  };
  onkey.set(place, (event) => {
    if (event.key !== "Escape" || !plainKey(event)) return;
    event.preventDefault();
    leaveForm();
  });
  setTimeout(() => {
    armed = true;
    for (const control of node.querySelectorAll("button")) control.disabled = sent;
    node.dispatchEvent(new CustomEvent("maia-armed"));
  }, ARMING);
  return { node, body, actions, answer, button, openForm, openReason, focus: node };
}

/** What is asked, in one line, and who asks. */
const cardHead = (word, title, summary, agent) =>
  h(
    "div",
    { class: "maia-head" },
    h("span", { class: "maia-tool" }, title),
    summary ? h("bdi", { class: "maia-summary" }, summary) : null,
    agent ? h("span", { class: "maia-badge" }, word("agent", { agent })) : null,
  );

const gap = () => h("span", { class: "maia-gap" });

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
      if (event.key !== "Enter" || !onenter) return;
      event.preventDefault();
      onenter();
    },
  });
  return [h("label", { for: id }, label), field];
}

// -- permission -------------------------------------------------------------------------------------

function permission(question, context) {
  const { word, model } = context;
  const once = () => card.answer({ choice: "once" });
  const deny = () => card.answer({ choice: "deny" });
  const card = frame(question, context, {
    label: word("question"),
    keys: { o: once, y: once, n: deny, Escape: deny },
    hint: word("keys"),
  });
  const more = (display) => (from, draw) => nextRows(model, { id: question.id, display, from }, draw);
  card.body.append(
    cardHead(word, question.tool, question.summary, question.agent),
    ...question.displays.map((display, number) => drawing(display, word, more(number))).filter(Boolean),
    ...facts([
      [word("touches"), question.touches],
      [word("why"), question.reason ? [question.reason] : []],
    ]),
  );
  const askRules = () => ruleForm(question, card, word);
  card.actions.append(
    card.button("once", word("once"), once, "maia-primary"),
    ...(question.offer
      ? [
          card.button("session", word("session"), () => card.answer({ choice: "session" })),
          card.button("always", word("always") + "…", askRules),
        ]
      : []),
    gap(),
    card.button("deny", word("deny"), deny, "maia-danger"),
    card.button("tell", word("tell"), () =>
      card.openReason(word("reason"), "send", word("send"), { choice: "deny" }, { empty: true }),
    ),
  );
  if (!question.refused) return card;
  askRules();
  return { ...card, focus: card.node.querySelector(".maia-rule"), mustFocus: true };
}

/** The rules to write, each of which can be edited, and the file they go to. */
function ruleForm(question, card, word) {
  const { offer, refused } = question;
  const before = refused ? refused.rules : offer.rules;
  const group = freshId();
  const label = word(before.length > 1 ? "rules" : "rule");
  const fields = before.map((rule, number) => {
    const [name, field] = textField(number ? "" : label, "maia-rule maia-code", rule);
    field.dataset.before = rule;
    if (number) field.setAttribute("aria-label", label);
    return number ? [field] : [name, field];
  });
  const chosen = refused ? refused.place : offer.files[0]?.place;
  const files = offer.files.map(({ place, path }) =>
    optionRow({ type: "radio", name: group, value: place, checked: place === chosen }, path, word(`place_${place}`)),
  );
  const send = () => {
    const inputs = [...card.node.querySelectorAll(".maia-rule")];
    const rules = inputs.map((field) => field.value.trim());
    if (!rules.some(Boolean)) return;
    // A rule that was not edited is not sent: what is shown of it is neutralised.
    const edited = inputs.map((field, number) => (field.value === field.dataset.before ? number : rules[number]));
    const place = card.node.querySelector(`input[name="${group}"]:checked`)?.value;
    card.answer({ choice: "always", rules: edited, place });
  };
  // Enter does not write a rule: what is allowed for ever is allowed by the button.
  card.openForm(
    [
      ...fields.flat(),
      refused ? h("div", { class: "maia-fault", role: "alert" }, refused.fault) : null,
      h("fieldset", { class: "maia-files" }, h("legend", {}, word("rule_file")), ...files),
    ].filter(Boolean),
    card.button("write", word(before.length > 1 ? "write_rules" : "write_rule"), send, "maia-primary"),
  );
}

/** A radio or check box with its label and what is said of it. */
const optionRow = (props, label, detail) =>
  h(
    "label",
    { class: "maia-pick" },
    h("input", props),
    h(
      "span",
      { class: "maia-pick-words" },
      h("bdi", { class: "maia-pick-label" }, label),
      detail ? h("bdi", { class: "maia-pick-detail" }, detail) : null,
    ),
  );

// -- form -------------------------------------------------------------------------------------------

/** The model's questions, each with options and a field for other words. */
function form(question, context) {
  const { word, model } = context;
  const card = frame(question, context, { label: word("form"), kind: "maia-questions" });
  const more = (display) => (from, draw) => nextRows(model, { id: question.id, display, from }, draw);
  const fields = question.fields.map((field) => formField(field, word, more));
  const send = card.button("send", word("form_send"), () => card.answer({ fields: fields.map(({ value }) => value()) }), "maia-primary");
  const check = () => (send.disabled = !fields.every(({ answered }) => answered()));
  card.node.addEventListener("input", check);
  card.node.addEventListener("maia-armed", check);
  card.body.append(
    cardHead(word, word("form"), "", question.agent),
    ...fields.map(({ node }) => node),
  );
  card.actions.append(
    send,
    gap(),
    card.button("decline", word("decline") + "…", () =>
      card.openReason(word("decline_reason"), "send-decline", word("decline"), { declined: true }, { empty: true }),
    ),
  );
  return card;
}

function formField(field, word, more) {
  const name = freshId();
  const type = field.multiple ? "checkbox" : "radio";
  const preview = h("div", { class: "maia-preview", hidden: true });
  const show = (shown) => {
    preview.hidden = !shown;
    preview.replaceChildren(...(shown ? [rowsBox(shown, word, more(shown.number))] : []));
  };
  const boxes = field.options.map((option) => {
    const row = optionRow({ type, name }, option.label, option.description);
    const box = row.querySelector("input");
    box.addEventListener("focus", () => show(option.preview));
    box.addEventListener("change", () => show(option.preview));
    row.addEventListener("pointerenter", () => show(option.preview));
    return [row, box];
  });
  const other = h("input", { type: "text", class: "maia-other", autocomplete: "off", placeholder: word("other_words"), "aria-label": word("other_words") });
  const otherRow = optionRow({ type, name }, word("other"), "");
  const otherBox = otherRow.querySelector("input");
  otherRow.append(other);
  other.addEventListener("input", () => (otherBox.checked = other.value.trim() !== ""));
  otherBox.addEventListener("change", () => {
    show();
    if (otherBox.checked) other.focus();
  });
  const words = () => (otherBox.checked ? other.value.trim() : "");
  const picked = () => boxes.flatMap(([, box], number) => (box.checked ? [number] : []));
  return {
    node: h(
      "fieldset",
      { class: "maia-field" },
      h("legend", {}, h("span", { class: "maia-chip" }, field.header), h("span", { class: "maia-asked" }, field.question)),
      h("div", { class: "maia-choices" }, h("div", { class: "maia-picks" }, ...boxes.map(([row]) => row), otherRow), preview),
    ),
    value: () => ({ picked: picked(), other: words() }),
    answered: () => picked().length > 0 || words() !== "",
  };
}

// -- plan -------------------------------------------------------------------------------------------

/** The plan as it reads, to approve, edit or reject. */
function plan(question, context) {
  const { word } = context;
  const approve = () => card.answer({ choice: "approve" });
  const reject = () => card.answer({ choice: "reject" });
  const card = frame(question, context, {
    label: word("plan"),
    kind: "maia-plan",
    keys: { o: approve, y: approve, n: reject, Escape: reject },
    hint: word("plan_keys"),
  });
  const edit = () => {
    const text = h("textarea", { class: "maia-code", rows: "16", spellcheck: "false", "aria-label": word("plan") });
    text.value = question.source;
    // What was not edited is not sent: what is shown of it is neutralised.
    const changed = () => (text.value === question.source ? {} : { plan: text.value });
    const send = (choice) => () => text.value.trim() && card.answer({ choice, ...changed() });
    card.openForm(
      [text],
      card.button("approve-text", word("approve_text"), send("approve"), "maia-primary"),
      card.button("approve-text-edits", word("approve_edits"), send("approve_edits")),
    );
    text.setSelectionRange(0, 0);
    text.scrollTop = 0;
  };
  card.body.append(
    cardHead(word, word("plan"), "", question.agent),
    h("div", { class: "maia-prose", tabindex: "0", role: "document", "aria-label": word("plan") }, ...question.tree.map(proseNode)),
  );
  card.actions.append(
    card.button("approve", word("approve"), approve, "maia-primary"),
    card.button("approve-edits", word("approve_edits"), () => card.answer({ choice: "approve_edits" })),
    card.button("edit", word("edit") + "…", edit),
    gap(),
    card.button("reject", word("reject"), reject, "maia-danger"),
    card.button("tell", word("reject_tell"), () => card.openReason(word("reject_reason"), "send", word("reject"), { choice: "reject" })),
  );
  return card;
}

const PROSE = "p h1 h2 h3 h4 h5 h6 ul ol li blockquote pre code em strong s hr br table thead tbody tr th td".split(" ");

/** Markdown that the kernel has parsed: [tag, children] or text. */
const proseNode = (part) =>
  typeof part === "string" ? document.createTextNode(part) : h(PROSE.includes(part[0]) ? part[0] : "span", {}, ...part[1].map(proseNode));

// -- trust ------------------------------------------------------------------------------------------

/** What a project brings along. No key trusts it: that takes a look and a click. */
function trust(question, context) {
  const { word, model } = context;
  const later = () => card.answer({ choice: "later" });
  const card = frame(question, context, {
    label: word("trust"),
    kind: "maia-trust",
    keys: { n: later, Escape: later },
    hint: word("trust_keys"),
  });
  const more = (from, draw) => nextRows(model, { id: question.id, display: 0, from }, draw);
  card.body.append(
    cardHead(word, word("trust"), question.folder, ""),
    h("div", { class: "maia-hint" }, question.note),
    drawing(question.display, word, more),
  );
  card.actions.append(
    card.button("trust-all", word("trust_yes"), () => card.answer({ choice: "trust" }), "maia-primary"),
    card.button("later", word("trust_later"), later),
    gap(),
    card.button("never", word("trust_never"), () => card.answer({ choice: "never" }), "maia-danger"),
  );
  return card;
}

const CARDS = { permission, choice: picker, form, plan, trust };
