"use strict";
// One file made of several: helpers first, what they serve after. Text from a transcript reaches the
// page through text nodes only.

const byId = (id) => document.getElementById(id);
const stored = (id) => JSON.parse(byId(id).textContent);
const HEAD = stored("head");

// What is looked at. Everything drawn follows from it.
const state = { session: 0, policy: HEAD.preferred, step: null, shown: new Set(), data: null };

const loaded = new Map();
function sessionData(number) {
  if (!loaded.has(number)) loaded.set(number, stored(`session-${number}`));
  return loaded.get(number);
}
const texts = new Map();
function textOf(number) {
  if (!texts.has(state.session)) texts.set(state.session, stored(`texts-${state.session}`));
  return texts.get(state.session)[number];
}

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "on") for (const [event, act] of Object.entries(value)) node.addEventListener(event, act);
    else if (name === "style") Object.assign(node.style, value);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat()) {
    if (child === null || child === undefined || child === false) continue;
    node.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return node;
}
const el = (name, attributes, ...children) => fill(document.createElement(name), attributes, children);
const draw = (name, attributes, ...children) =>
  fill(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);

// Numbers: a narrow space between thousands, a true minus.
const THIN = "\u202f";
function whole(value) {
  const digits = String(Math.abs(Math.round(value))).replace(/\B(?=(\d{3})+$)/g, THIN);
  return Math.round(value) < 0 ? `\u2212${digits}` : digits;
}
function usd(value) {
  const size = Math.abs(value);
  if (size === 0) return "$0";
  if (size < 0.0001) return "under $0.0001";
  const places = size < 0.01 ? 4 : size < 0.1 ? 3 : 2;
  const [before, after] = size.toFixed(places).split(".");
  return `${value < 0 ? "\u2212" : ""}$${whole(before)}.${after}`;
}
function short(value) {
  if (value >= 1e6) return `${+(value / 1e6).toFixed(1)}M`;
  return value >= 1000 ? `${+(value / 1000).toFixed(1)}k` : whole(value);
}
const ratio = (value) => value.toFixed(value >= 10 ? 1 : 2);
const begin = (text, length) => (text.length > length ? `${text.slice(0, length - 1)}\u2026` : text);
const percent = (share) => `${Math.round(share * 100)}%`;
const price = (value) => (value < 0.01 ? usd(value) : `$${+value.toFixed(3) === +value.toFixed(2) ? value.toFixed(2) : value.toFixed(3)}`);
const sentence = (text) => text.charAt(0).toUpperCase() + text.slice(1);
const many = (count, one, more) => `${whole(count)} ${count === 1 ? one : more || `${one}s`}`;
function span(seconds) {
  if (seconds < 90) return `${whole(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  return seconds < 172800 ? `${Math.round(seconds / 3600)} h` : `${Math.round(seconds / 86400)} days`;
}

const names = HEAD.policies.map((one) => one.name);
const money = (units) => units * state.data.prices.input;
const stepName = (step) => `step ${whole(step + 1)}`;

// The reference is grey, the policy in question blue, the others take the rest.
const COLOURS = (() => {
  let next = 0;
  return new Map(names.map((name) => {
    if (name === HEAD.baseline) return [name, "var(--line-base)"];
    if (name === HEAD.preferred) return [name, "var(--line-main)"];
    next = (next % 4) + 1;
    return [name, `var(--line-${next})`];
  }));
})();
const dashed = (name) => (name === HEAD.baseline ? " dash" : "");
const key = (name) => el("i", { class: `key${dashed(name)}`, style: { color: COLOURS.get(name) }, "aria-hidden": "true" });

const WHEN = {
  forced: ["forced", "the budget forced it"],
  pays: ["pays", "it pays for itself by the expected further steps"],
  cold: ["cold cache", "the cache was cold, so the rewrite cost nothing extra"],
  arrival: ["on arrival", "too large when it arrived, so it was shortened before it was ever sent"],
};
