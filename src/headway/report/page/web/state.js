// What the page shows, and who draws it. A part has `start` (the page is new), `show` (time, or
// what is switched on, has changed) and `light` (another path is pointed at).
const byId = (id) => document.getElementById(id);
const all = (selector, root = document) => [...root.querySelectorAll(selector)];
const made = (name, attributes = {}, ...children) => {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
};
const SVG = "http://www.w3.org/2000/svg";
const svgElement = (name, attributes, parent) => {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  parent?.append(element);
  return element;
};

const page = {
  data: {}, // see data.py
  at: 0, // index into data.steps
  pinned: null, // the path that was clicked
  pointed: null, // the path that is pointed at
  cut: false, // whether it is cut out of the circuit
  unfolded: ["birth"], // groups of columns
  whole: false, // whether curves show the whole run where a part would do
  log: false, // whether steps are by their logarithm
  view: "roles",
  order: "position",
};
const parts = [];

let drawn = null;
function refresh() {
  drawn ??= requestAnimationFrame(() => {
    drawn = null;
    for (const part of parts) part.show?.();
  });
}

function goTo(index) {
  const last = (page.data.steps?.length ?? 0) - 1;
  page.at = Math.max(0, Math.min(last, index));
  refresh();
}

function goToStep(step) {
  const off = page.data.steps.map((at) => Math.abs(at - step));
  goTo(off.indexOf(Math.min(...off)));
}

function point(path, pin = false) {
  if (pin) page.pinned = page.pinned === path ? null : path;
  page.pointed = path;
  light();
}

// Clicks on a path: the one that is chosen already is let go.
function choose(path, cut = false) {
  const again = page.pinned === path && (page.cut || !cut);
  page.pinned = again ? null : path;
  page.cut = page.pinned !== null && cut;
  light();
  refresh();
}

function light() {
  for (const part of parts) part.light?.(page.pointed ?? page.pinned);
}

// Three digits, zeros at the end included, as everywhere in headway.
const number = (value) => {
  if (value === null || value === undefined) return "—";
  const size = Math.abs(+value.toPrecision(3));
  if (size >= 1000) return Math.round(value).toLocaleString("en");
  if (size > 0 && size < 1e-4) return value.toExponential(2).replace(/-(\d)$/, "-0$1");
  return value.toPrecision(3).replace(/\.$/, "");
};

// A name such as s2 or x_1, its number as a subscript, or find^2, its number raised.
const named = (name) => {
  const piece = document.createDocumentFragment();
  for (const word of name.split(/(\b[a-z]_?\d+\b|\^\d+)/)) {
    const [, letter, index] = word.match(/^([a-z])_?(\d+)$/) ?? [];
    if (letter) piece.append(letter, made("sub", {}, index));
    else if (/^\^\d+$/.test(word)) piece.append(made("sup", {}, word.slice(1)));
    else piece.append(word);
  }
  return piece;
};

const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
