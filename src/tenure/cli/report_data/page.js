// The page around the charts: finding, comparison, pickers, notes.

function finding() {
  const { preferred, baseline, total, sessions } = HEAD;
  if (!sessions.length) return "Nothing was replayed: no session was found.";
  const own = total[preferred].usd;
  const whose = sessions.length === 1 ? "This session" : `These ${whole(sessions.length)} sessions`;
  if (!baseline || preferred === baseline || !total[baseline].usd) return `${whose} would have cost ${usd(own)} under ${preferred}.`;
  const change = own / total[baseline].usd - 1;
  const words = Math.abs(change) < 0.005 ? "as much as" : `${percent(Math.abs(change))} ${change < 0 ? "less than" : "more than"}`;
  return `${whose} would have cost ${usd(own)} under ${preferred}: ${words} the ${usd(total[baseline].usd)} of ${baseline}.`;
}

function caveat() {
  const over = HEAD.baseline ? HEAD.total[HEAD.baseline].over_budget : 0;
  return over ? `${HEAD.baseline} could not have gone on as recorded: at ${many(over, "step")} its request did not fit the budget.` : "";
}

function factsOf(data) {
  const { prices } = data;
  const million = (factor) => price(prices.input * factor * 1e6);
  return [
    data.name, data.model, many(data.steps.length, "step"), `window ${whole(data.window)} tokens`,
    `${million(1)} input, ${million(prices.read)} cache read, ${million(prices.write)} cache write, ${million(prices.output)} output per million tokens`,
    prices.known ? null : "prices are defaults: the model is unknown",
  ].filter(Boolean).map((text) => el("span", {}, text));
}

function compareTable(figures, caption, brief) {
  const base = HEAD.baseline ? figures[HEAD.baseline].usd : 0;
  const most = Math.max(1, ...names.map((name) => (base ? figures[name].usd / base : 0)));
  const least = Math.min(...names.map((name) => figures[name].usd));
  const cell = (label, value, tone) => el("td", { class: `number ${tone || ""}`, "data-label": label }, value);
  const count = (label, value, tone) => cell(label, value ? whole(value) : "0", value ? tone : "zero");
  const over = names.some((name) => figures[name].over_budget);
  return el("div", { class: "scroll" }, el("table", { class: "compare" },
    el("caption", { class: "hidden" }, caption),
    el("thead", {}, el("tr", {}, ["Policy", "Cost", base ? `Of ${HEAD.baseline}` : null, "Peak tokens", "Evictions", "Re-fetches", "Their cost", "Violations", over ? "Over budget" : null]
      .filter(Boolean).map((name, n) => el("th", { scope: "col", class: n ? "" : "words" }, name)))),
    el("tbody", {}, HEAD.policies.map(({ name, sentence }) => {
      const one = figures[name];
      const share = base ? one.usd / base : null;
      return el("tr", { "data-policy": name },
        el("th", { scope: "row" }, el("span", { class: "policy" }, key(name), name), brief ? null : el("span", { class: "sentence" }, sentence)),
        cell("Cost", usd(one.usd), one.usd === least ? "best" : ""),
        base ? el("td", { class: "number", "data-label": `Of ${HEAD.baseline}` }, ratio(share), bar(share, most, name)) : null,
        cell("Peak tokens", whole(one.peak)),
        count("Evictions", one.evictions), count("Re-fetches", one.refetches),
        cell("Their cost", one.refetch_usd ? usd(one.refetch_usd) : "\u2013", one.refetch_usd ? "" : "zero"),
        count("Violations", one.violations, "bad"),
        over ? count("Over budget", one.over_budget, "bad") : null);
    }))));
}

function bar(share, most, name) {
  return el("span", { class: "ratio", "aria-hidden": "true" },
    el("i", { style: { width: `${(share / most) * 100}%`, background: COLOURS.get(name) } }),
    el("b", { style: { left: `calc(${(1 / most) * 100}% - 1px)` } }));
}

function sessionTable() {
  return el("div", { class: "scroll" }, el("table", {},
    el("caption", { class: "hidden" }, "Sessions; choose one to see it step by step"),
    el("thead", {}, el("tr", {}, el("th", { scope: "col", class: "words" }, "Session"), el("th", { scope: "col", class: "words wide" }, "Model"),
      el("th", { scope: "col" }, "Steps"), names.map((name) => el("th", { scope: "col", class: name === HEAD.preferred || name === HEAD.baseline ? "" : "wide" }, name)))),
    el("tbody", {}, HEAD.sessions.map((one, number) => {
      const least = Math.min(...Object.values(one.usd));
      return el("tr", { class: `row${number === state.session ? " current" : ""}`, on: { click: () => showSession(number) } },
        el("td", { class: "words" }, el("button", { class: "plain link", type: "button", "aria-pressed": String(number === state.session), "data-session": number,
          on: { click: (event) => { event.stopPropagation(); showSession(number); byId("sessions").querySelector(`[data-session="${number}"]`).focus(); } } }, one.name)),
        el("td", { class: "words wide quiet" }, one.model), el("td", { class: "number" }, whole(one.steps)),
        names.map((name) => el("td", { class: `number ${one.usd[name] === least ? "best" : ""} ${name === HEAD.preferred || name === HEAD.baseline ? "" : "wide"}` }, usd(one.usd[name]))));
    }))));
}

function showSession(number) {
  state.session = number;
  state.data = sessionData(number);
  if (byId("panel").open) byId("panel").close();
  if (HEAD.sessions.length > 1) {
    byId("sessions").replaceChildren(sessionTable());
    byId("session-head").replaceChildren(
      el("section", { "aria-labelledby": "session-title" }, el("h2", { id: "session-title" }, state.data.name), el("p", { class: "facts" }, factsOf(state.data).slice(1)),
        compareTable(Object.fromEntries(names.map((name) => [name, state.data.policies[name].figures])), `Policies compared on ${state.data.name}`, true)));
  }
  showPolicy(state.policy);
}

function showPolicy(name) {
  state.policy = name;
  if (byId("panel").open) byId("panel").close();
  byId("shown").replaceChildren(...names.map((one) => one === name
    ? el("span", {}, key(one), el("em", {}, one))
    : el("label", {}, el("input", { type: "checkbox", value: one, checked: state.shown.has(one), on: { change: toggle } }), key(one), one)));
  drawCharts();
  resetTable();
}

function toggle(event) {
  const { value, checked } = event.target;
  if (checked) state.shown.add(value);
  else state.shown.delete(value);
  drawCharts();
}

// The session shown first is where the most money went.
function dearest() {
  const spent = HEAD.sessions.map((one) => one.usd[HEAD.baseline || HEAD.preferred]);
  return spent.indexOf(Math.max(...spent));
}

function notes() {
  const said = [
    "Costs are what the provider's prompt cache would have charged, request by request, by the recorded times: a simulation under the prices above, the same for every policy.",
    `${sentence(HEAD.lifetime)}.`,
    ...(HEAD.beginning ? [`${sentence(HEAD.beginning)}.`] : []),
    "A re-fetch is an evicted result that a later step used: its call was repeated, or the step held a string found only there and not in its tombstone. Its price is one more read of the resident prefix, a short call, and the result written again.",
    "A violation is a rule of the provider that a view breaks more often than the unedited messages do.",
    "Price is what an edit costs once, in rewritten cache; it pays back in the number of steps after which what it saves per step has covered that. Where it was needed again, the net by the session's end is shown, re-fetches included.",
  ];
  return said.map((text) => el("p", {}, text));
}

function start() {
  byId("finding").textContent = finding();
  if (!HEAD.sessions.length) return;
  byId("recorded").textContent = HEAD.recorded && `${sentence(HEAD.recorded)}; every figure below, ${HEAD.baseline || "every policy"} too, is simulated.`;
  byId("caveat").textContent = caveat();
  names.forEach((name) => state.shown.add(name));
  const single = HEAD.sessions.length === 1;
  byId("main").hidden = false;
  const models = [...new Set(HEAD.sessions.map((one) => one.model))];
  const steps = HEAD.sessions.reduce((sum, one) => sum + one.steps, 0);
  byId("facts").replaceChildren(...(single ? factsOf(sessionData(0)) : [many(HEAD.sessions.length, "session"), many(steps, "step"), models.join(", ")].map((text) => el("span", {}, text))));
  byId("compare").replaceChildren(compareTable(HEAD.total, "Policies compared"));
  byId("sessions-part").hidden = single;
  byId("session-head").hidden = single;
  byId("policies").append(...names.map((name) => el("label", { class: "choice" },
    el("input", { type: "radio", name: "policy", value: name, checked: name === state.policy, on: { change: () => showPolicy(name) } }), el("span", {}, name))));
  byId("notes").replaceChildren(...notes());
  showSession(dearest());
  let width = innerWidth;
  addEventListener("resize", () => { if (innerWidth !== width) { width = innerWidth; drawCharts(); } });
}

start();
