// The circuit: arrows as strong as the attention, one path at a time switched off.
const circuit = { arrows: [], switches: [] };

circuit.start = () => {
  const paths = new Map((page.data.paths ?? []).map((path) => [path.key, path]));
  const known = (element) => paths.get(element.dataset.path);
  circuit.arrows = all(".arrow").map((arrow) =>
    [arrow, known(arrow), arrow.querySelector(".strength")]);
  circuit.switches = all(".switch");
  circuit.paths = paths;
  if (!paths.has(page.off)) page.off = null;
  if (!paths.has(page.pinned)) page.pinned = null;
  point(null);
};

circuit.show = () => {
  for (const [arrow, path, strength] of circuit.arrows) {
    const attention = path?.attention?.[page.at];
    if (attention !== undefined && attention !== null) {
      arrow.style.setProperty("--a", attention);
      if (strength) strength.textContent = attention.toFixed(2);
    }
    arrow.classList.toggle("off", path?.key === page.off);
  }
  for (const box of circuit.switches) box.checked = box.dataset.path !== page.off;
  const said = byId("switched");
  if (said) said.replaceChildren(...circuit.cost(circuit.paths.get(page.off), said));
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
    words.push(` The model at step ${page.data.steps[page.at].toLocaleString("en")} without this`
      + ` attention alone: ${number(without)} instead of ${number(path.model[page.at])}.`);
  }
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
  if (pathOf(event) && !event.target.matches(".switch")) point(pathOf(event), true);
});
document.addEventListener("keydown", (event) => {
  const arrow = event.target.closest?.(".arrow");
  if (arrow && (event.key === "Enter" || event.key === " ")) {
    event.preventDefault();
    point(arrow.dataset.path, true);
  }
});
document.addEventListener("change", (event) => {
  if (!event.target.matches(".switch")) return;
  page.off = event.target.checked ? null : event.target.dataset.path;
  refresh();
});
parts.push(circuit);
