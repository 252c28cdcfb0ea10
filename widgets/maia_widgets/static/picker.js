// -- picker -----------------------------------------------------------------------------------------

function picker(question, { word, say }) {
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
  return { node, focus: list, mayFocus: true };
}
