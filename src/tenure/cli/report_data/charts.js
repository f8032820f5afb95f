// A chart's frame, its axes, and the step under the pointer or the arrow keys, shared by all charts.

const charts = [];

function ticks(top, count) {
  const raw = top / count;
  const power = 10 ** Math.floor(Math.log10(raw || 1));
  const step = [1, 2, 2.5, 5, 10].map((one) => one * power).find((one) => one >= raw) || power;
  const found = [];
  for (let n = 0; n * step <= top * 1.0001; n += 1) found.push(n * step);
  return found;
}

// `room` is kept at the right for the names of lines, `below` for lanes under the axis.
function frame(host, { top, format, label, height = 250, room = 0, below = 0 }) {
  const width = Math.max(280, host.clientWidth);
  const narrow = width < 600;
  const box = { left: 74, top: 12, right: narrow ? 10 : 16 + room };
  const count = state.data.steps.length;
  const inner = width - box.left - box.right;
  const x = (step) => box.left + ((step + 0.5) / count) * inner;
  const y = (value) => box.top + height - (value / top) * height;
  const svg = draw("svg", {
    width, height: box.top + height + 26 + below, role: "slider", tabindex: 0, "aria-label": label,
    "aria-valuemin": 1, "aria-valuemax": count, "aria-valuenow": 1, "aria-orientation": "horizontal",
  });
  for (const value of ticks(top, 6)) {
    const at = Math.round(y(value)) + 0.5;
    svg.append(
      draw("line", { class: value ? "grid" : "axis", x1: box.left, x2: width - box.right, y1: at, y2: at }),
      draw("text", { x: box.left - 8, y: at + 4, "text-anchor": "end" }, value ? format(value) : "0"),
    );
  }
  const marks = ticks(count, narrow ? 5 : 10).filter((one) => one >= 1 && Number.isInteger(one));
  if (!marks.includes(1)) marks.unshift(1);
  marks.forEach((one) => svg.append(
    draw("text", { x: x(one - 1), y: box.top + height + 18, "text-anchor": "middle" }, one === 1 ? "step 1" : whole(one)),
  ));
  host.replaceChildren(svg);
  return { svg, host, box, width, height, inner, narrow, count, x, y };
}

// One path per thread: threads that run side by side do not join.
function linePath(values, chart) {
  const last = new Map();
  const pieces = new Map();
  values.forEach((value, step) => {
    const thread = state.data.steps[step][0];
    const point = `${chart.x(step).toFixed(1)} ${chart.y(value).toFixed(1)}`;
    pieces.set(thread, (pieces.get(thread) || "") + (last.has(thread) ? `L${point}` : `M${point}h.01`));
    last.set(thread, step);
  });
  return [...pieces.values()].join("");
}

const joined = (values, chart) =>
  values.map((value, step) => `${step ? "L" : "M"}${chart.x(step).toFixed(1)} ${chart.y(value).toFixed(1)}`).join("");

function series(chart, name, path) {
  const focus = name === state.policy ? " focus" : "";
  chart.svg.append(draw("path", {
    class: `series${focus}${dashed(name)}`, d: path, style: { color: COLOURS.get(name) }, "data-policy": name,
  }));
}

// Names at the right ends, pushed apart where lines end close together.
function endLabels(chart, entries) {
  if (chart.narrow) return;
  const placed = entries.map((one) => ({ ...one, at: chart.y(one.value) })).sort((a, b) => a.at - b.at);
  const gap = 17;
  placed.forEach((one, n) => { if (n) one.at = Math.max(one.at, placed[n - 1].at + gap); });
  const low = chart.box.top + chart.height;
  for (let n = placed.length - 1; n >= 0; n -= 1) {
    placed[n].at = Math.min(placed[n].at, n + 1 < placed.length ? placed[n + 1].at - gap : low);
  }
  placed.forEach((one) => chart.svg.append(draw("text", {
    class: "end", x: chart.width - chart.box.right + 8, y: one.at + 4, style: { color: COLOURS.get(one.name) },
  }, one.name, draw("tspan", { dx: 6 }, one.text))));
}

// Puts a chart under the shared crosshair. `read(step)` gives the readout's parts as [name, text],
// `dots(step)` the points to mark, `open(step)` what Enter and a click do.
function listen(chart, { readout, read, dots, open, hint }) {
  const cross = draw("line", { class: "cross", y1: chart.box.top, y2: chart.box.top + chart.height, visibility: "hidden" });
  const points = draw("g", { "aria-hidden": "true" });
  chart.svg.append(cross, points);
  chart.show = () => {
    const step = state.step;
    const on = step !== null;
    cross.setAttribute("visibility", on ? "visible" : "hidden");
    points.replaceChildren();
    if (!on) {
      readout.replaceChildren(el("span", {}, hint || "\u00a0"));
      chart.svg.setAttribute("aria-valuetext", "no step chosen");
      return;
    }
    cross.setAttribute("x1", chart.x(step));
    cross.setAttribute("x2", chart.x(step));
    for (const [value, name] of dots ? dots(step) : []) {
      points.append(draw("circle", { class: "dot", r: 4, cx: chart.x(step), cy: chart.y(value), style: { color: COLOURS.get(name) } }));
    }
    const parts = read(step);
    chart.svg.setAttribute("aria-valuenow", step + 1);
    chart.svg.setAttribute("aria-valuetext", [placeOf(step), ...parts.map(([name, text]) => `${name} ${text}`)].join(", "));
    readout.replaceChildren(el("span", {}, el("em", {}, placeOf(step))), ...parts.map(([name, text, sign]) =>
      el("span", {}, sign || null, `${name} `, el("em", {}, text))));
  };
  const stepAt = (event) => {
    const left = chart.svg.getBoundingClientRect().left + chart.box.left;
    return Math.max(0, Math.min(chart.count - 1, Math.floor(((event.clientX - left) / chart.inner) * chart.count)));
  };
  chart.svg.addEventListener("pointermove", (event) => choose(stepAt(event)));
  chart.svg.addEventListener("pointerdown", (event) => choose(stepAt(event)));
  chart.svg.addEventListener("pointerleave", (event) => {
    if (event.pointerType === "mouse" && document.activeElement !== chart.svg) choose(null);
  });
  chart.svg.addEventListener("blur", () => choose(null));
  chart.svg.addEventListener("focus", () => { if (state.step === null) choose(0); });
  chart.svg.addEventListener("keydown", (event) => {
    const at = state.step === null ? 0 : state.step;
    const far = Math.max(2, Math.round(chart.count / 10));
    const moves = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: far, PageDown: -far, Home: -at, End: chart.count };
    if (event.key in moves) choose(Math.max(0, Math.min(chart.count - 1, at + moves[event.key])));
    else if ((event.key === "Enter" || event.key === " ") && open) open(at);
    else return;
    event.preventDefault();
  });
  charts.push(chart);
  chart.show();
}

function choose(step) {
  if (state.step === step) return;
  state.step = step;
  charts.forEach((chart) => chart.show());
}

function placeOf(step) {
  const [thread, number] = state.data.steps[step];
  const [name, own] = [state.data.threads[thread], number === step ? "" : ` ${stepName(number)}`];
  const where = state.data.threads.length > 1 ? ` \u00b7 ${name}${own}` : "";
  return `${stepName(step)} of ${whole(state.data.steps.length)}${where}`;
}
