// The evictions of the policy in question: filtered, sorted, a page at a time.

const PAGE = 25;
const COLUMNS = [
  { id: "step", name: "Step", value: (one) => one.step },
  { id: "what", name: "What", value: (one) => `${nameOf(one)} ${one.about}`, words: true },
  { id: "before", name: "Tokens", value: (one) => one.before },
  { id: "after", name: "After", value: (one) => one.after, wide: true },
  { id: "words", name: "Reason", value: (one) => one.words, words: true, wide: true },
  { id: "when", name: "When", value: (one) => whenOf(one), words: true },
  { id: "price", name: "Price", value: (one) => one.price, wide: true },
  { id: "even", name: "Pays back in", value: (one) => breakEven(one), wide: true },
  { id: "again", name: "Re-fetched", value: (one) => one.again.length },
];
const view = { sort: "step", down: false, find: "", when: "", again: false, least: 0, step: null, page: 0, current: null };

const nameOf = (one) => (one.tool ? (one.what === "result" ? `result of ${one.tool}` : `${one.what} of ${one.tool}`) : one.what);
const aboutOf = (one) => begin(one.about, 120);
const whenOf = (one) => (WHEN[one.when] || [one.when])[0];
function breakEven(one) {
  if (one.price <= 0) return 0;
  return one.saves > 0 ? one.price / one.saves : Infinity;
}
// What an eviction has saved by the session's end: its savings per later step of its thread, less its
// price and what fetching it again cost.
function netSoFar(one) {
  const { refetches } = state.data.policies[state.policy];
  const [thread] = state.data.steps[one.step];
  const later = state.data.steps.reduce((sum, [own], step) => sum + (own === thread && step > one.step), 0);
  return one.saves * later - one.price - one.again.reduce((sum, n) => sum + refetches[n].cost, 0);
}
function evenWords(one) {
  if (one.again.length) {
    const net = money(netSoFar(one));
    return `${net < 0 ? "lost" : "saved"} ${usd(Math.abs(net))} so far, re-fetch included`;
  }
  const steps = breakEven(one);
  if (steps === 0) return "at once";
  return steps === Infinity ? "never" : many(Math.ceil(steps), "step");
}
const evictions = () => state.data.policies[state.policy].evictions;

// The numbers of the evictions that pass the filters, in the order of the table.
function chosen() {
  const column = COLUMNS.find((one) => one.id === view.sort);
  const wanted = view.find.trim().toLowerCase();
  const list = evictions().map((one, number) => ({ one, number })).filter(({ one }) =>
    (view.step === null || one.step === view.step) && (!view.when || one.when === view.when) && (!view.again || one.again.length) && one.before >= view.least
    && (!wanted || `step ${one.step + 1} ${stepName(one.step)} ${one.again.map((n) => `step ${state.data.policies[state.policy].refetches[n].step + 1}`).join(" ")} ${nameOf(one)} ${one.about} ${one.words} ${one.handle} ${whenOf(one)}`.toLowerCase().includes(wanted)));
  const sign = view.down ? -1 : 1;
  list.sort((a, b) => {
    const [p, q] = [column.value(a.one), column.value(b.one)];
    return sign * (p < q ? -1 : p > q ? 1 : 0) || a.number - b.number;
  });
  return list.map(({ number }) => number);
}

function resetTable() {
  Object.assign(view, { find: "", when: "", again: false, least: 0, step: null, page: 0, current: null });
  const all = evictions();
  const freed = all.reduce((sum, one) => sum + one.before - one.after, 0);
  byId("evictions-sub").textContent = all.length
    ? `${many(all.length, "edit")} by ${state.policy} kept ${whole(freed)} tokens out of the view. Each can be opened.`
    : `${state.policy} evicted nothing in this session.`;
  const host = byId("evictions-list");
  host.replaceChildren();
  if (!all.length) return;
  const reasons = [...new Set(all.map((one) => one.when))];
  const set = (change) => { Object.assign(view, change, { page: 0 }); fillTable(); };
  host.append(
    el("div", { class: "filters" },
      el("input", { type: "search", placeholder: "Filter by tool, reason, step", "aria-label": "Filter by tool, reason, step or handle", on: { input: (event) => set({ find: event.target.value }) } }),
      el("select", { "aria-label": "When", on: { change: (event) => set({ when: event.target.value }) } },
        el("option", { value: "" }, "any time"), reasons.map((one) => el("option", { value: one }, (WHEN[one] || [one])[0]))),
      el("select", { "aria-label": "Size", "data-all": "0", on: { change: (event) => set({ least: Number(event.target.value) }) } },
        [0, 500, 1000, 2500, 5000, 10000, 25000].map((size) => el("option", { value: size }, size ? `${short(size)} tokens or more` : "any size"))),
      el("label", {}, el("input", { type: "checkbox", on: { change: (event) => set({ again: event.target.checked }) } }), " re-fetched only"),
      el("span", { id: "step-filter" }),
      el("span", { class: "count", id: "count", role: "status" })),
    el("div", { class: "scroll" }, el("table", { class: "evict" },
      el("caption", { class: "hidden" }, "Evictions"),
      el("thead", {}, el("tr", { id: "columns" })), el("tbody", { id: "rows" }))),
    el("div", { class: "pager", id: "pager" }),
  );
  fillTable();
}

function heading(column) {
  const on = view.sort === column.id;
  const act = () => {
    const down = on ? !view.down : !column.words && column.id !== "step";
    Object.assign(view, { sort: column.id, down, page: 0 });
    fillTable();
    byId("columns").querySelector(`[data-column="${column.id}"]`).focus();
  };
  return el("th", { scope: "col", class: `${column.words ? "words" : ""}${column.wide ? " wide" : ""}`, "aria-sort": on ? (view.down ? "descending" : "ascending") : null },
    el("button", { class: "plain", type: "button", "data-column": column.id, on: { click: act } }, column.name, on ? (view.down ? " \u2193" : " \u2191") : ""));
}

function fillTable() {
  const found = chosen();
  const pages = Math.max(1, Math.ceil(found.length / PAGE));
  view.page = Math.max(0, Math.min(view.page, pages - 1));
  const from = view.page * PAGE;
  byId("columns").replaceChildren(...COLUMNS.map(heading));
  byId("rows").replaceChildren(...found.slice(from, from + PAGE).map(rowOf));
  byId("count").textContent = found.length ? `${whole(from + 1)}\u2013${whole(Math.min(found.length, from + PAGE))} of ${whole(found.length)}` : "none match";
  byId("step-filter").replaceChildren(...(view.step === null ? [] : [
    el("button", { class: "button", type: "button", on: { click: () => { view.step = null; fillTable(); } } }, `only ${stepName(view.step)} \u00d7`)]));
  const turn = (by) => () => { view.page += by; fillTable(); };
  byId("pager").replaceChildren(...(pages < 2 ? [] : [
    el("button", { class: "button", type: "button", disabled: view.page === 0, on: { click: turn(-1) } }, "Previous"),
    el("span", {}, `page ${view.page + 1} of ${pages}`),
    el("button", { class: "button", type: "button", disabled: view.page === pages - 1, on: { click: turn(1) } }, "Next")]));
}

function rowOf(number) {
  const one = evictions()[number];
  const open = () => openEviction(number);
  return el("tr", { class: `row${view.current === number ? " current" : ""}`, "data-eviction": number, on: { click: open } },
    el("td", { class: "number" }, whole(one.step + 1)),
    el("td", { class: "words" }, el("button", { class: "plain link", type: "button", on: { click: (event) => { event.stopPropagation(); open(); } } }, nameOf(one)),
      one.about ? el("span", { class: "about" }, aboutOf(one)) : null),
    el("td", { class: "number" }, whole(one.before)),
    el("td", { class: "number wide" }, whole(one.after)),
    el("td", { class: "words wide" }, one.words),
    el("td", { class: "words" }, whenOf(one)),
    el("td", { class: "number wide" }, usd(money(one.price))),
    el("td", { class: "number wide" }, evenWords(one)),
    el("td", { class: one.again.length ? "number again" : "number zero" }, one.again.length ? one.again.map((n) => stepName(state.data.policies[state.policy].refetches[n].step)).join(", ") : "\u2013"));
}

function openStep(step) {
  const first = evictions().findIndex((one) => one.step === step);
  if (first < 0) return;
  Object.assign(view, { step, page: 0, find: "", when: "", again: false, least: 0 });
  const filters = byId("evictions-list");
  filters.querySelectorAll("input[type=search], select").forEach((one) => { one.value = one.dataset.all || ""; });
  filters.querySelector("input[type=checkbox]").checked = false;
  fillTable();
  openEviction(chosen()[0]);
}

function openFetch(step) {
  const fetch = state.data.policies[state.policy].refetches.find((one) => one.step === step && one.eviction !== null);
  if (fetch) openEviction(fetch.eviction);
}
