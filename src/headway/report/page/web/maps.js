// Attention maps: a canvas a head, a pixel a cell, stretched; frames and words lie over it.
const maps = { heads: [], shades: null, big: new Set() };

maps.start = () => {
  const box = byId("maps"), data = page.data;
  maps.heads = [];
  if (!box || !data.heads) return;
  if (!data.roles.length) page.view = "example";
  maps.between = bytes(data.betweenRoles);
  maps.onExample = maps.last = null;
  box.style.setProperty("--least", data.heads.length <= 9 ? "230px" : "150px");
  maps.heads = data.heads.map((head, number) => maps.make(head, number));
  box.replaceChildren(...maps.heads.map((map) => map.box));
  maps.choose();
  maps.lay();
};

maps.make = (head, number) => {
  const name = `L${head.layer}.H${head.head}`;
  const canvas = made("canvas", { role: "img" });
  const frames = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  frames.setAttribute("preserveAspectRatio", "none");
  const enlarge = made("button", { type: "button", class: "enlarge", "aria-pressed": "false",
    title: "larger or smaller", "aria-label": `${name}: larger or smaller` }, "⤢");
  const does = made("small", {}, named(head.does));
  const title = made("h3", {}, name, " ", does, enlarge);
  const top = made("div", { class: "top", "aria-hidden": "true" });
  const side = made("div", { class: "side", "aria-hidden": "true" });
  const cells = made("div", { class: "cells" }, canvas, frames);
  const box = made("div", { class: `map${head.useful ? "" : " idle"}` }, title,
    made("div", { class: "grid" }, top, side, cells));
  const map = { head, number, name, box, canvas, frames, top, side, enlarge };
  enlarge.addEventListener("click", () => {
    maps.big[maps.big.has(name) ? "delete" : "add"](name);
    maps.lay();
  });
  canvas.addEventListener("pointermove", (event) => maps.tell(map, event));
  canvas.addEventListener("pointerleave", () => point(null));
  canvas.addEventListener("click", (event) => {
    const path = maps.pathAt(map, maps.cellAt(map, event));
    if (path) choose(path.key);
  });
  return map;
};

// How rows and columns stand: which position or role each is, and what it is called.
maps.layout = () => {
  const { roles, symbols, colours, example } = page.data;
  const called = (role, i) => symbols[i] ? `${role} (${symbols[i]})` : role;
  if (page.view === "roles") {
    const rows = roles.map((role, i) => ({ at: i, label: role, name: called(role, i),
      colour: colours[i] }));
    return { rows, columns: [...rows, { at: null, label: "else", name: "anything else" }] };
  }
  const rows = example.labels.map((label, at) => {
    const [role, chain] = example.owners[at];
    const where = `position ${example.first + at}`;
    const plays = role === null ? "" : `: ${called(roles[role], role)}`
      + (example.chains > 1 ? ` of chain ${chain + 1}` : "");
    const name = (label === "·" ? where : `${label}, ${where}`) + plays;
    return { at, label, name, role, chain, colour: role === null ? null : colours[role] };
  });
  if (page.order === "role") {
    const rank = (row) => (row.role ?? roles.length) * 1000 + (row.chain ?? 0);
    rows.sort((a, b) => rank(a) - rank(b));
  }
  return { rows, columns: rows };
};

maps.lay = () => {
  maps.plan = maps.layout();
  const { rows, columns } = maps.plan, edge = page.view === "roles" ? 0 : 2;
  maps.edge = edge;
  for (const map of maps.heads) {
    const big = maps.big.has(map.name);
    map.box.classList.toggle("big", big);
    map.enlarge.setAttribute("aria-pressed", String(big));
    const room = (map.canvas.clientWidth - 60) / columns.length; // of a label, in pixels
    const words = big || page.view === "roles" || room > 10;
    map.image = null;
    map.canvas.width = columns.length + edge;
    map.canvas.height = rows.length + edge;
    map.frames.setAttribute("viewBox", `0 0 ${map.canvas.width} ${map.canvas.height}`);
    const label = (row) => made("span", {}, named(row.label));
    map.top.replaceChildren(...(words ? columns.map(label) : []));
    map.side.replaceChildren(...(words ? rows.map(label) : []));
    const crowded = rows.some((row) => row.label.length > 2) || rows.length > 16;
    map.top.classList.toggle("upright", crowded);
    map.box.style.setProperty("--edge", edge);
    maps.frame(map);
  }
  light();
  refresh();
};

maps.frame = (map) => {
  const { rows, columns } = maps.plan;
  const place = (list, at) => list.findIndex((row) => row.at === at);
  map.paths = page.data.paths.filter((path) => path.head === map.number);
  const framed = map.paths.flatMap((path) => maps.cellsOf(path).map(([query, key]) => {
    const y = place(rows, query), x = place(columns, key);
    return svgElement("rect", { x: x + maps.edge, y: y + maps.edge, width: 1, height: 1,
      class: `frame ${path.colour}`, "data-path": path.key });
  }));
  map.strays = (page.data.strays ?? []).filter((stray) => stray.head === map.number);
  const dotted = page.view === "roles" ? map.strays.map(({ query, attended }) => svgElement("rect",
    { x: place(columns, attended) + 0.04, y: place(rows, query) + 0.04, width: 0.92, height: 0.92,
      class: "stray" })) : [];
  map.frames.replaceChildren(...dotted, ...framed);
  // So many frames around so small cells would hide them: then only those pointed at are shown.
  const small = rows.length > (maps.big.has(map.name) ? 128 : 32);
  map.box.classList.toggle("fine", small && framed.length > 40);
};

// The cells of a path, as row and column.
maps.cellsOf = (path) => {
  if (page.view !== "roles") return path.cells;
  return path.query === null ? [] : [[path.query, path.attended]];
};

maps.show = () => {
  if (!maps.heads.length) return;
  maps.shades ??= maps.mix();
  if (page.view === "example" && !maps.onExample) return maps.unpack();
  const { rows, columns } = maps.plan, { edge } = maps, across = columns.map(({ at }) => at);
  for (const map of maps.heads) {
    const { width, height } = map.canvas, context = map.canvas.getContext("2d");
    const image = map.image ??= context.createImageData(width, height);
    const cells = new Uint32Array(image.data.buffer), value = maps.reader(map);
    if (edge) {
      rows.forEach((row, i) => { cells[(i + edge) * width] = maps.shades.roles[row.colour] ?? 0; });
      columns.forEach((row, i) => { cells[i + edge] = maps.shades.roles[row.colour] ?? 0; });
    }
    const shades = map.head.useful ? maps.shades.attention : maps.shades.idle;
    for (let i = 0; i < rows.length; i++) {
      const row = rows[i].at, from = (i + edge) * width + edge;
      for (let j = 0; j < across.length; j++) cells[from + j] = shades[value(row, across[j])];
    }
    context.putImageData(image, 0, 0);
    if (page.view === "roles") map.canvas.setAttribute("aria-label", maps.described(map, value));
    else map.canvas.setAttribute("aria-label", `${map.name}: attention on one sequence`);
  }
  if (maps.last) maps.read(...maps.last);
};

// Attention in hundredths of a head at this step, by row and column.
maps.reader = (map) => {
  const { steps, heads, roles, example } = page.data;
  const off = example.kept.map((at) => Math.abs(steps[at] - steps[page.at]));
  const [values, at, n] = page.view === "roles" ? [maps.between, page.at, roles.length]
    : [maps.onExample, off.indexOf(Math.min(...off)), example.labels.length];
  const from = (at * heads.length + map.number) * n * n;
  return (i, j) => { // one function for both views, so that the browser makes it fast
    if (j !== null) return values[from + i * n + j];
    let rest = 100;
    for (let k = 0; k < n; k++) rest -= values[from + i * n + k];
    return Math.max(0, rest);
  };
};

maps.unpack = async () => {
  if (maps.unpacking === page.data) return;
  maps.unpacking = page.data;
  const data = page.data, stream = new Blob([bytes(data.example.packed)]).stream();
  const open = new Response(stream.pipeThrough(new DecompressionStream("gzip")));
  const values = new Uint8Array(await open.arrayBuffer());
  if (page.data !== data) return; // the run went on in the meantime
  maps.onExample = values;
  refresh();
};

maps.described = (map, value) => {
  const n = page.data.roles.length, strongest = [];
  for (let i = 0; i < n; i++) for (let j = 0; j < n; j++) strongest.push([value(i, j), i, j]);
  strongest.sort((a, b) => b[0] - a[0]);
  const words = strongest.slice(0, 3).map(([share, i, j]) =>
    `${page.data.roles[i]} to ${page.data.roles[j]} ${(share / 100).toFixed(2)}`);
  return `${map.name}: mean attention, strongest ${words.join(", ")}`;
};

// Colours of the theme, as the pixels of a canvas have them.
maps.mix = () => {
  const probe = made("canvas", { width: 1, height: 1 }).getContext("2d", { willReadFrequently: true });
  const rgb = (colour) => {
    probe.fillStyle = colour;
    probe.fillRect(0, 0, 1, 1);
    return [...probe.getImageData(0, 0, 1, 1).data];
  };
  const resolve = (name) => {
    const element = byId("maps").appendChild(made("i", { style: `color:var(${name})` }));
    const colour = getComputedStyle(element).color;
    element.remove();
    return rgb(colour);
  };
  const pixel = ([r, g, b]) => (255 << 24) | (b << 16) | (g << 8) | r;
  const none = resolve("--card"), full = resolve("--full");
  const between = (share) => none.map((c, i) => Math.round(c + (full[i] - c) * share));
  const grey = ([r, g, b]) => none.map((c) => c / 4 + 0.75 * (0.21 * r + 0.72 * g + 0.07 * b));
  const shades = (look) => Uint32Array.from({ length: 101 }, (_, i) =>
    pixel(look(between((i / 100) ** 0.8))));
  return {
    attention: shades((colour) => colour),
    idle: shades(grey), // as a filter of the canvas it would take longer than all the rest
    roles: Object.fromEntries([0, 1, 2, 3, 4, 5, 6].map((i) => [`c${i}`,
      pixel(resolve(`--c${i}`)) >>> 0])),
  };
};

maps.cellAt = (map, event) => {
  const { left, top, width, height } = map.canvas.getBoundingClientRect();
  const j = Math.floor(((event.clientX - left) / width) * map.canvas.width) - maps.edge;
  const i = Math.floor(((event.clientY - top) / height) * map.canvas.height) - maps.edge;
  const row = maps.plan.rows[i], column = maps.plan.columns[j];
  return row && column ? { row, column } : null;
};

maps.pathAt = (map, cell) => cell && map.paths.find((path) => maps.cellsOf(path)
  .some(([query, key]) => query === cell.row.at && key === cell.column.at));

maps.tell = (map, event) => {
  const cell = maps.cellAt(map, event);
  if (!cell) return;
  maps.last = [map, cell];
  maps.read(map, cell);
  const path = maps.pathAt(map, cell)?.key ?? null;
  if (path !== page.pointed) point(path);
};

// The words of the cell that was pointed at last, which time changes wherever the pointer is now.
maps.read = (map, cell) => {
  if (page.view === "example" && !maps.onExample) return; // it will be read when it is unpacked
  const share = maps.reader(map)(cell.row.at, cell.column.at) / 100;
  byId("readout").replaceChildren(`${map.name}: `, named(cell.row.name), " attends to ",
    named(cell.column.name), ` with ${share.toFixed(2)}`, share < page.data.strong ? "" : maps.why(map, cell));
};

// Of strong attention that is no path: what it costs to cut it, along all chains, at the last step.
maps.why = (map, { row, column }) => {
  const role = (place) => page.view === "roles" ? place.at : place.role;
  const stray = map.strays.find(({ query, attended }) => query === role(row)
    && attended === role(column) && row.chain === column.chain);
  if (!stray || page.at < page.data.steps.length - 1) return "";
  return `; ${stray.needed ? "no path of the circuit, but" : "attends, not needed:"}`
    + ` cutting it costs ${stray.cost}`;
};

document.addEventListener("click", (event) => {
  const button = event.target.closest?.("[data-choice]");
  if (!button) return;
  page[button.dataset.choice] = button.dataset.value;
  maps.last = null;
  byId("readout").textContent = "Point at a cell to read it.";
  maps.choose();
  maps.lay();
});

maps.choose = () => {
  for (const button of all("[data-choice]")) {
    const { choice, value } = button.dataset;
    button.setAttribute("aria-pressed", String(page[choice] === value));
    if (choice === "order") button.disabled = page.view === "roles";
  }
};

maps.themed = () => {
  maps.shades = null;
  refresh();
};
parts.push(maps);
