(() => {
  const source = document.getElementById("viewer-data");
  if (!source) return;
  const data = JSON.parse(source.textContent);
  const byId = (id) => document.getElementById(id);
  const svgElement = (name, attributes, parent) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    parent?.append(element);
    return element;
  };
  // A name such as s2 or x_1, its number as a subscript.
  const parts = (name) => name.match(/^([a-z])_?(\d+)$/)?.slice(1) ?? [name, ""];
  const html = (name) => {
    const [letter, index] = parts(name), element = document.createElement("span");
    element.append(letter);
    if (index) element.append(Object.assign(document.createElement("sub"), { textContent: index }));
    return element;
  };
  const longNames = data.roles.some((role) => parts(role)[0].length > 2);
  const size = data.roles.length, CELL = 20, EDGE = longNames ? 32 : 24;
  const inSvg = (name) => parts(name).map((text, i) => {
    const part = svgElement("tspan", i ? { dy: 2.5, "font-size": 8 } : {});
    part.textContent = text;
    return part;
  });
  const slider = byId("when"), play = byId("play"), readout = byId("readout");
  const least = data.heads.length <= 6 ? 250 : data.heads.length <= 16 ? 180 : 130;
  byId("maps").style.setProperty("--least", `${least}px`);
  byId("viewer").hidden = false;
  if (!data.paths.length) byId("live").remove();

  // One small map a head: rows attend, columns are attended to.
  const cells = data.heads.map((head, at) => {
    const box = document.createElement("div");
    const title = document.createElement("h4");
    const name = `layer ${head.layer}` + (data.severalHeads ? ` head ${head.head}` : "");
    title.textContent = name;
    if (data.paths.length) title.style.color = head.colour ?? "#6b737b";
    const does = document.createElement("small");
    does.innerHTML = head.does;
    title.append(does);
    const side = EDGE + size * CELL + 1;
    const svg = svgElement("svg", { viewBox: `0 0 ${side} ${side}`, role: "img" });
    svg.setAttribute("aria-label", `attention of ${name}`);
    const label = { "font-size": 10, fill: "#5b626a", "text-anchor": "middle" };
    data.roles.forEach((role, i) => {
      const middle = EDGE + (i + 0.5) * CELL;
      const above = { ...label, x: middle, y: EDGE - 6 };
      if (longNames) {
        above["text-anchor"] = "start";
        above.transform = `rotate(-90 ${middle} ${EDGE - 6}) translate(2 3)`;
      }
      svgElement("text", above, svg).append(...inSvg(role));
      svgElement("text", { ...label, x: EDGE / 2, y: middle + 3 }, svg).append(...inSvg(role));
    });
    svgElement("rect", { x: EDGE, y: EDGE, width: size * CELL, height: size * CELL,
      fill: "none", stroke: "#c3c8ce" }, svg);
    const made = [];
    for (let i = 0; i < size * size; i++) {
      const x = EDGE + (i % size) * CELL, y = EDGE + Math.floor(i / size) * CELL;
      const cell = svgElement("rect", { x, y, width: CELL, height: CELL,
        fill: head.colour ?? "#6b737b", "data-at": at, "data-i": i }, svg);
      made.push(cell);
    }
    for (const path of data.paths.filter((path) => path.at === at)) {
      svgElement("rect", { x: EDGE + path.key * CELL + 1, y: EDGE + path.query * CELL + 1,
        width: CELL - 2, height: CELL - 2, fill: "none", stroke: "#1b1f24", "stroke-width": 1.6,
        "pointer-events": "none" }, svg);
    }
    box.append(title, svg);
    byId("maps").append(box);
    return made;
  });

  // The partial losses, with a line at the checkpoint shown.
  const WIDTH = 900, HEIGHT = 110, progress = byId("progress");
  const lastStep = Math.max(1, data.steps.at(-1), ...data.losses.steps);
  const across = (step) => (step / lastStep) * WIDTH;
  const down = (loss) => 4 + (1 - Math.min(1.05, loss) / 1.05) * (HEIGHT - 8);
  progress.setAttribute("viewBox", `0 0 ${WIDTH} ${HEIGHT}`);
  progress.setAttribute("preserveAspectRatio", "none");
  for (const level of [0, 0.5, 1]) {
    svgElement("line", { x1: 0, x2: WIDTH, y1: down(level), y2: down(level), stroke: "#dfe2e5",
      "vector-effect": "non-scaling-stroke" }, progress);
  }
  for (const hop of data.losses.hops) {
    const points = hop.values.map((loss, i) => `${across(data.losses.steps[i])},${down(loss)}`);
    svgElement("polyline", { points: points.join(" "), fill: "none", stroke: hop.colour,
      "stroke-width": 2, "vector-effect": "non-scaling-stroke" }, progress);
  }
  for (const hop of data.losses.hops) {
    const name = document.createElement("b");
    name.append(html(hop.name));
    name.style.color = hop.colour;
    byId("hops").append(name);
  }
  const cursor = svgElement("line", { y1: 0, y2: HEIGHT, stroke: "#1b1f24", "stroke-width": 1.5,
    "vector-effect": "non-scaling-stroke" }, progress);

  const show = (index) => {
    const values = data.values[index], block = size * size;
    cells.forEach((made, at) => made.forEach((cell, i) => {
      cell.setAttribute("fill-opacity", values[at * block + i] / 100);
    }));
    for (const path of data.paths) {
      const value = values[path.at * block + path.query * size + path.key] / 100;
      const arrow = byId(path.arrow);
      if (arrow) arrow.style.opacity = 0.07 + 0.93 * value;
    }
    cursor.setAttribute("x1", across(data.steps[index]));
    cursor.setAttribute("x2", across(data.steps[index]));
    byId("now").textContent = `step ${data.steps[index].toLocaleString("en")}`;
    slider.value = index;
  };

  byId("maps").addEventListener("pointerover", (event) => {
    const { at, i } = event.target.dataset;
    if (at === undefined) return;
    const head = data.heads[at], value = data.values[slider.value][at * size * size + +i];
    const from = Math.floor(i / size), to = i % size;
    const name = (role) => data.symbols[role]
      ? [html(data.roles[role]), " (", html(data.symbols[role]), ")"] : [html(data.roles[role])];
    readout.replaceChildren(`layer ${head.layer} head ${head.head}: `, ...name(from),
      " attends to ", ...name(to), ` with ${(value / 100).toFixed(2)}`);
  });

  let timer = null;
  const stop = () => {
    clearInterval(timer);
    timer = null;
    play.textContent = "▶ Play";
  };
  slider.max = data.steps.length - 1;
  slider.addEventListener("input", () => { stop(); show(+slider.value); });
  play.addEventListener("click", () => {
    if (timer) return stop();
    if (+slider.value === data.steps.length - 1) show(0);
    play.textContent = "❚❚ Pause";
    timer = setInterval(() => {
      if (+slider.value >= data.steps.length - 1) return stop();
      show(+slider.value + 1);
    }, 140);
  });
  progress.addEventListener("click", (event) => {
    const { left, width } = progress.getBoundingClientRect();
    const step = ((event.clientX - left) / width) * lastStep;
    const off = data.steps.map((at) => Math.abs(at - step));
    stop();
    show(off.indexOf(Math.min(...off)));
  });
  show(data.steps.length - 1);
})();
