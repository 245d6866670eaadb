// The circuit: arrows as strong as the attention, one path at a time cut.
const circuit = { arrows: [], switches: [], paths: new Map(), sign: null };

circuit.start = () => {
  circuit.paths = new Map((page.data.paths ?? []).map((path) => [path.key, path]));
  const known = (element) => circuit.paths.get(element.dataset.path);
  circuit.arrows = all(".arrow").map((arrow) =>
    [arrow, known(arrow), arrow.querySelector(".strength")]);
  circuit.switches = all(".switch");
  circuit.sign = null;
  if (!circuit.paths.has(page.pinned)) choose(null);
  point(null);
};

circuit.off = () => page.cut ? circuit.paths.get(page.pinned) : undefined;

circuit.show = () => {
  const off = circuit.off();
  for (const [arrow, path, strength] of circuit.arrows) {
    const attention = path?.attention?.[page.at];
    if (attention !== undefined && attention !== null) {
      arrow.style.setProperty("--a", attention);
      if (strength) strength.textContent = attention.toFixed(2);
    }
    arrow.classList.toggle("off", Boolean(off) && path === off);
    arrow.classList.toggle("lost", Boolean(off?.lost?.includes(path?.key)));
  }
  for (const box of circuit.switches) box.checked = box.dataset.path !== off?.key;
  document.body.classList.toggle("cutting", Boolean(off));
  const said = byId("switched");
  if (!said) return;
  said.replaceChildren(...circuit.cost(off, said));
  circuit.mark(off);
};

// The loss without a path, beside its arrow.
circuit.mark = (path) => {
  circuit.sign?.remove();
  circuit.sign = null;
  const [arrow] = circuit.arrows.find(([, other]) => path && other === path) ?? [];
  if (!arrow) return;
  const shaft = arrow.querySelector(".shaft"), at = shaft.getPointAtLength(shaft.getTotalLength() / 2);
  circuit.sign = svgElement("text", { x: at.x + 8, y: at.y + 14, class: "cost" }, arrow.ownerSVGElement);
  circuit.sign.textContent = `✂ ${number(path.cut)}`;
};

circuit.cost = (path, said) => {
  const worst = path && Math.max(path.cut, path.cutFree);
  said.classList.toggle("worse", Boolean(path) && worst >= page.data.threshold);
  if (!path) return [said.dataset.whole];
  const { threshold, circuitLoss } = page.data;
  const side = path.cut < threshold ? "still below" : "not below";
  const words = [
    `Without ${path.name} `, named(path.relation),
    `: loss ${number(path.cut)} instead of ${number(circuitLoss)}, ${side} ${threshold};`
      + ` with the useful heads above free, ${number(path.cutFree)}.`,
  ];
  const without = path.without?.[page.at];
  if (without !== undefined && without !== null) {
    words.push(` Knocked out of the model at step ${page.data.steps[page.at].toLocaleString("en")}:`
      + ` ${number(without)} instead of ${number(path.model[page.at])}.`);
  }
  if (path.lost?.length) {
    words.push(" Grey: what by the flow of information then lacks what it needs.");
  }
  path.answers?.forEach((hop, i) => words.push(i ? ", " : " Never reaches the query: ", named(hop)));
  if (path.answers?.length) words.push(".");
  return words;
};

circuit.light = (key) => {
  document.body.classList.toggle("picking", key !== null);
  for (const element of all("[data-path]")) {
    element.classList.toggle("lit", element.dataset.path === key);
    if (element.matches(".arrow")) {
      element.setAttribute("aria-pressed", String(element.dataset.path === page.pinned));
    }
  }
};

const pathOf = (event) => event.target.closest?.("[data-path]")?.dataset.path ?? null;
document.addEventListener("pointerover", (event) => {
  if (event.target.closest?.("#maps canvas")) return; // the maps tell their cells themselves
  if (pathOf(event) !== page.pointed) point(pathOf(event));
});
document.addEventListener("focusin", (event) => {
  if (pathOf(event) !== page.pointed) point(pathOf(event));
});
document.addEventListener("click", (event) => {
  if (!pathOf(event) || event.target.matches(".switch")) return;
  choose(pathOf(event), Boolean(event.target.closest(".arrow")));
});
document.addEventListener("keydown", (event) => {
  const arrow = event.target.closest?.(".arrow");
  if (arrow && (event.key === "Enter" || event.key === " ")) {
    event.preventDefault();
    choose(arrow.dataset.path, true);
  }
});
document.addEventListener("change", (event) => {
  if (!event.target.matches(".switch")) return;
  page.pinned = null;
  choose(event.target.checked ? null : event.target.dataset.path, true);
});
parts.push(circuit);
