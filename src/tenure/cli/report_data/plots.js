// The three charts of a session.

const PARTS = [
  ["read", "cache read"], ["written", "cache write"], ["fresh", "fresh"], ["output", "output"], ["refetch", "re-fetch"],
];
const partColour = (part) => `var(--part-${part})`;
const visible = () => names.filter((name) => state.shown.has(name) || name === state.policy);
// The policy in question is drawn last, on top.
const ordered = () => visible().sort((a, b) => (a === state.policy) - (b === state.policy));
const costs = (name) => {
  const parts = state.data.policies[name].parts;
  return parts.read.map((_, step) => PARTS.reduce((sum, [part]) => sum + parts[part][step], 0));
};
const highest = (lists) => lists.reduce((top, list) => list.reduce((a, b) => Math.max(a, b), top), 0);

function drawCharts() {
  charts.length = 0;
  state.step = null;
  const empty = !state.data.steps.length;
  document.querySelectorAll("section.chart").forEach((one) => { one.hidden = empty; });
  if (empty) return;
  drawOccupancy();
  drawSteps();
  drawSum();
}

function drawOccupancy() {
  const { window: limit, available, policies } = state.data;
  const peak = highest(visible().map((name) => policies[name].resident)) || 1;
  const near = peak > limit * 0.35;
  const lanes = lanesOf(policies[state.policy]);
  const chart = frame(byId("occupancy"), {
    top: near ? Math.max(limit, peak) * 1.04 : peak * 1.15, format: short, room: 170, below: lanes.length * 26 + 6,
    label: "Resident tokens per step; Enter opens what was evicted at the step",
  });
  byId("occupancy-sub").textContent = near
    ? `Resident tokens at each step, of a window of ${whole(limit)}; ${whole(limit - available)} are reserved for output`
    : `Resident tokens at each step; the window of ${whole(limit)} is ${(limit / peak).toFixed(1)} times the peak`;
  for (const name of ordered()) series(chart, name, linePath(policies[name].resident, chart));
  if (near) {
    drawLimit(chart, limit, "context window");
    if (chart.y(available) - chart.y(limit) > 18) drawLimit(chart, available, "available for input");
  }
  drawThreads(chart);
  const last = chart.count - 1;
  endLabels(chart, visible().map((name) => ({ name, value: policies[name].resident[last], text: short(policies[name].resident[last]) })));
  lanes.forEach((lane, n) => drawLane(chart, lane, chart.box.top + chart.height + 28 + n * 26));
  listen(chart, {
    readout: byId("occupancy-read"), open: openStep,
    hint: "Point at a chart, or focus it and use the arrow keys; a mark below it opens what was evicted.",
    dots: (step) => visible().map((name) => [policies[name].resident[step], name]),
    read: (step) => [
      ...visible().map((name) => [name, whole(policies[name].resident[step]), key(name)]),
      ...lanes.flatMap((lane) => lane.marks.filter((one) => one.step === step).map((one) => [lane.name, one.text])),
    ],
  });
}

// Where each thread's stretch begins, and its name as far as there is room.
function drawThreads(chart) {
  if (state.data.threads.length < 2) return;
  let free = 0;
  state.data.steps.forEach(([thread], step) => {
    if (step && state.data.steps[step - 1][0] === thread) return;
    const x = Math.round(chart.x(step - 0.5)) + 0.5;
    const bottom = chart.box.top + chart.height;
    if (step) chart.svg.append(draw("line", { class: "axis thread", x1: x, x2: x, y1: chart.box.top, y2: bottom }));
    const name = begin(state.data.threads[thread], 24);
    const wide = 7 * name.length + 10;
    if (x < free || x + wide > chart.width) return;
    free = x + wide;
    chart.svg.append(draw("text", { class: "thread", x: x + 5, y: bottom - 6 }, name));
  });
}

function drawLimit(chart, value, name) {
  const at = Math.round(chart.y(value)) + 0.5;
  chart.svg.append(
    draw("line", { class: "limit", x1: chart.box.left, x2: chart.width - chart.box.right, y1: at, y2: at }),
    draw("text", { x: chart.box.left + 4, y: at + 14 }, name),
  );
}

function grouped(list, size) {
  const found = new Map();
  for (const one of list) {
    const mark = found.get(one.step) || { step: one.step, count: 0, size: 0 };
    mark.count += 1;
    mark.size += size(one);
    found.set(one.step, mark);
  }
  return [...found.values()];
}

// What happened at which step, in lanes under the chart: nothing covers the lines.
function lanesOf(policy) {
  const freed = grouped(policy.evictions, (one) => Math.max(0, one.before - one.after));
  const fetched = grouped(policy.refetches, (one) => one.tokens);
  const broken = grouped(policy.violations, (one) => one.count).map((one) => ({
    ...one, text: policy.violations.filter(({ step }) => step === one.step).map(({ rule, count }) => `${rule} \u00d7 ${count}`).join(", "),
  }));
  return [
    { name: "evicted", colour: COLOURS.get(state.policy), open: openStep, bars: true, always: true,
      marks: freed.map((one) => ({ ...one, text: `${one.count} (${short(one.size)} tokens)` })) },
    { name: "re-fetched", colour: "var(--part-refetch)", open: openFetch, always: true,
      marks: fetched.map((one) => ({ ...one, text: `${one.count} (${short(one.size)} tokens)` })) },
    { name: "cold pause", colour: "var(--cold)", marks: state.data.pauses.map((one) => ({ step: one.step, text: span(one.seconds) })) },
    { name: "violated", colour: "var(--bad)", marks: broken },
    { name: "over budget", colour: "var(--bad)", marks: policy.over.map((step) => ({ step, text: "what must stay did not fit" })) },
  ].filter((lane) => lane.marks.length || lane.always);
}

function drawLane(chart, lane, top) {
  const base = Math.round(top + 20) + 0.5;
  chart.svg.append(
    draw("line", { class: "lane", x1: chart.box.left, x2: chart.width - chart.box.right, y1: base, y2: base }),
    draw("text", { x: chart.box.left - 8, y: base - 2, "text-anchor": "end" }, lane.name),
  );
  if (!chart.narrow) {
    const total = lane.marks.length ? lane.marks.reduce((sum, one) => sum + (one.count || 1), 0) : "none";
    chart.svg.append(draw("text", { x: chart.width - chart.box.right + 8, y: base - 2 }, lane.marks.length ? whole(total) : total));
  }
  const wide = Math.max(2.5, Math.min(9, (chart.inner / chart.count) * 0.7));
  const most = lane.marks.reduce((top, one) => Math.max(top, one.size || 0), 1);
  for (const one of lane.marks) {
    const x = chart.x(one.step);
    const tall = lane.bars ? 4 + 15 * Math.sqrt(one.size / most) : 0;
    const shape = lane.bars
      ? `M${x - wide / 2} ${base}v${-tall}h${wide}v${tall}z`
      : `M${x} ${base - 13}l4.5 4.5l-4.5 4.5l-4.5 -4.5z`;
    const mark = draw("path", { class: `mark${lane.open ? " open" : ""}`, d: shape, style: { color: lane.colour }, "data-lane": lane.name, "data-step": one.step });
    if (lane.open) {
      const hit = Math.max(wide, 8);
      chart.svg.append(draw("rect", {
        class: "hit", x: x - hit / 2, y: base - 21, width: hit, height: 23, "data-open": lane.name, "data-step": one.step,
        on: { click: () => lane.open(one.step) },
      }, draw("title", {}, `${stepName(one.step)}: ${lane.name} ${one.text}`)));
      mark.style.pointerEvents = "none";
    }
    chart.svg.append(mark);
  }
}

function drawSteps() {
  const parts = state.data.policies[state.policy].parts;
  const compared = HEAD.baseline && HEAD.baseline !== state.policy ? costs(HEAD.baseline).map(money) : null;
  const own = costs(state.policy).map(money);
  const chart = frame(byId("steps"), {
    top: (highest(compared ? [own, compared] : [own]) || 1) * 1.05, format: price, height: 230, room: 170,
    label: `Cost per step under ${state.policy}`,
  });
  byId("steps-sub").textContent = `What each step costs under ${state.policy}${compared ? `, and under ${HEAD.baseline} as a line` : ""}`;
  const below = new Array(chart.count).fill(0);
  const wide = Math.max(0.8, (chart.inner / chart.count) * (chart.count > chart.inner / 3 ? 1 : 0.78));
  for (const [part] of PARTS) {
    let path = "";
    parts[part].forEach((units, step) => {
      const value = money(units);
      if (value <= 0) return;
      const low = chart.y(below[step]);
      below[step] += value;
      path += `M${(chart.x(step) - wide / 2).toFixed(2)} ${low.toFixed(2)}h${wide.toFixed(2)}V${chart.y(below[step]).toFixed(2)}h${(-wide).toFixed(2)}z`;
    });
    if (path) chart.svg.append(draw("path", { class: "mark", d: path, style: { color: partColour(part) }, "data-part": part }));
  }
  if (compared) {
    const path = compared.map((value, step) =>
      `${step ? "L" : "M"}${(chart.x(step) - chart.inner / chart.count / 2).toFixed(1)} ${chart.y(value).toFixed(1)}h${(chart.inner / chart.count).toFixed(2)}`).join("");
    chart.svg.append(draw("path", { class: "series", d: path, style: { color: "var(--ink)", strokeWidth: "1.2px" } }));
    const last = compared[chart.count - 1];
    if (!chart.narrow) chart.svg.append(draw("text", { class: "end", x: chart.width - chart.box.right + 8, y: chart.y(last) + 4 }, HEAD.baseline));
  }
  const total = own.reduce((sum, value) => sum + value, 0) || 1;
  const paid = PARTS.filter(([part]) => parts[part].some((value) => value > 0));
  byId("parts").replaceChildren(...paid.map(([part, name]) => {
    const sum = money(parts[part].reduce((all, value) => all + value, 0));
    return el("span", {}, el("i", { class: "box", style: { background: partColour(part) }, "aria-hidden": "true" }), `${name} `, el("em", {}, usd(sum)), ` ${percent(sum / total)}`);
  }));
  listen(chart, {
    readout: byId("steps-read"), open: openStep,
    read: (step) => [
      ...PARTS.filter(([part]) => parts[part][step] > 0).map(([part, name]) => [name, usd(money(parts[part][step]))]),
      ["total", usd(own[step])],
      ...(compared ? [[HEAD.baseline, usd(compared[step])]] : []),
    ],
  });
}

function drawSum() {
  const sums = new Map(names.map((name) => {
    let sum = 0;
    return [name, costs(name).map((units) => (sum += money(units)))];
  }));
  const chart = frame(byId("sum"), {
    top: (highest(visible().map((name) => sums.get(name))) || 1) * 1.04, format: price, height: 230, room: 170,
    label: "Cumulative cost of each policy",
  });
  for (const name of ordered()) series(chart, name, joined(sums.get(name), chart));
  const last = chart.count - 1;
  endLabels(chart, visible().map((name) => ({ name, value: sums.get(name)[last], text: usd(sums.get(name)[last]) })));
  listen(chart, {
    readout: byId("sum-read"), open: openStep,
    dots: (step) => visible().map((name) => [sums.get(name)[step], name]),
    read: (step) => visible().map((name) => [name, usd(sums.get(name)[step]), key(name)]),
  });
}
