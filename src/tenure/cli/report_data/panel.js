// One eviction in full. Long texts enter the page a piece at a time.

const PIECE = 60000;
let opener = null;

function openEviction(number) {
  const panel = byId("panel");
  const one = evictions()[number];
  view.current = number;
  document.querySelectorAll("tr.row").forEach((row) => row.classList.toggle("current", row.dataset.eviction === String(number)));
  const order = chosen();
  const at = order.indexOf(number);
  const move = (by) => () => openEviction(order[at + by]);
  const step = (by, label) => el("button", {
    class: "button", type: "button", "aria-label": `${label} eviction`, disabled: at < 0 || order[at + by] === undefined, on: { click: move(by) },
  }, by < 0 ? "\u2190" : "\u2192");
  panel.replaceChildren(
    el("div", { class: "panel-bar" }, step(-1, "Previous"), step(1, "Next"),
      el("span", {}, at < 0 ? "" : `${whole(at + 1)} of ${whole(order.length)}`),
      el("button", { class: "button", type: "button", id: "panel-close", on: { click: () => panel.close() } }, "Close")),
    el("div", { class: "panel-body", tabindex: -1 }, bodyOf(one)),
  );
  if (!panel.open) {
    opener = document.activeElement;
    if (matchMedia("(max-width: 800px)").matches) panel.showModal();
    else panel.show();
  }
  byId("panel-close").focus({ preventScroll: true });
}

function bodyOf(one) {
  const { refetches } = state.data.policies[state.policy];
  const [, why] = WHEN[one.when] || [one.when, one.when];
  const figure = (name, value, note) => el("div", {}, el("dt", {}, name), el("dd", {}, value, note ? el("small", {}, note) : null));
  return [
    el("p", { class: "sub" }, placeOf(one.step)),
    el("h2", { id: "panel-title" }, sentence(nameOf(one))),
    one.about ? el("p", { class: "about" }, aboutOf(one)) : null,
    el("p", {}, `${sentence(one.words)}; ${why}.`),
    el("dl", { class: "figures" },
      figure("Tokens before", whole(one.before)),
      figure("Tokens after", whole(one.after), `${whole(one.before - one.after)} freed`),
      figure("Edit", one.edit, one.policy === state.policy ? null : one.policy),
      figure("Price, once", usd(money(one.price)), `${whole(one.price)} base input tokens`),
      figure("Saves per step", usd(money(one.saves)), `${whole(one.saves)} base input tokens`),
      figure(one.again.length ? "Net" : "Pays back in", evenWords(one)),
      figure("Handle", one.handle ? el("code", {}, one.handle) : "none"),
      figure("Characters", whole(textOf(one.original).length))),
    el("h3", {}, "Needed again"),
    one.again.length
      ? el("ul", { class: "list" }, one.again.map((n) => fetchOf(refetches[n])))
      : el("p", { class: "quiet" }, "Never: no later step had to fetch it."),
    el("h3", {}, one.standIn === null ? "Nothing stands in its place" : "What stands in its place"),
    one.standIn === null ? el("p", { class: "quiet" }, "It was dropped whole.") : long(textOf(one.standIn), "What stands in its place"),
    el("h3", {}, "Original"),
    long(textOf(one.original), "Original"),
  ];
}

function fetchOf(fetch) {
  const why = fetch.repeat && !fetch.missing.length ? ["the call was made again"] : ["the tombstone lacked ", fetch.missing.flatMap((text, n) => [n ? ", " : "", el("code", {}, text)])];
  return el("li", {}, `at ${stepName(fetch.step)} for ${usd(money(fetch.cost))} (${whole(fetch.tokens)} tokens): `, ...why.flat());
}

// A text of any length: the first piece now, the next when asked for.
function long(text, label) {
  if (!text) return el("p", { class: "quiet" }, "no text");
  const pre = el("pre", { tabindex: 0, "aria-label": label, role: "region" });
  const holder = el("div", {}, pre);
  let shown = 0;
  const more = el("button", { class: "button more", type: "button", on: { click: () => add() } });
  const add = () => {
    let end = Math.min(text.length, shown + PIECE);
    if (end < text.length && /[\ud800-\udbff]/.test(text[end - 1])) end -= 1;
    pre.append(document.createTextNode(text.slice(shown, end)));
    shown = end;
    more.textContent = `Show more: ${whole(shown)} of ${whole(text.length)} characters`;
    more.remove();
    if (shown < text.length) holder.append(more);
  };
  add();
  return holder;
}

byId("panel").addEventListener("close", () => {
  view.current = null;
  document.querySelectorAll("tr.row.current").forEach((row) => row.classList.remove("current"));
  if (opener && opener.isConnected) opener.focus({ preventScroll: true });
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && byId("panel").open) byId("panel").close();
});
