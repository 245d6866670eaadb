// Curves: a line where the page stands, and the values there.
const charts = { outputs: [] };

charts.start = () => {
  if (page.whole) {
    for (const button of all(".chart .whole")) charts.extend(button.closest(".chart"), true);
  }
  if (page.log) {
    for (const button of all(".chart button.log")) charts.scale(button.closest(".chart"), true);
  }
  const paths = new Map((page.data.paths ?? []).map((path) => [path.key, path]));
  charts.outputs = all("output[data-now]").map((output) => {
    const kind = output.dataset.now;
    const path = paths.get(output.closest("[data-path]")?.dataset.path) ?? page.data.paths?.[0];
    const hop = output.closest("[data-hop]")?.dataset.hop;
    const evaluated = () => page.data.evaluations?.[page.at];
    const value = {
      val_loss: () => evaluated()?.val_loss,
      train_loss: () => evaluated()?.train_loss,
      partial: () => evaluated()?.partial?.[hop],
    }[kind] ?? (() => path?.[kind]?.[page.at]);
    return [output, value];
  });
};

charts.show = () => {
  const step = page.data.steps?.[page.at];
  if (step === undefined) return;
  for (const chart of all(".chart")) {
    const shown = +chart.style.getPropertyValue("--shown");
    for (const cursor of all(".cursor", chart)) { // on the chart, it would restyle all curves
      cursor.style.setProperty("--now", step);
      cursor.hidden = step > shown;
    }
  }
  for (const [output, value] of charts.outputs) {
    const exact = value(), text = number(exact);
    if (output.textContent !== text) output.textContent = text;
    output.dataset.exact = exact ?? "";
  }
};

charts.drag = (plot, event) => {
  const { left, width } = plot.getBoundingClientRect();
  const [shown, first] = charts.axis(plot);
  const share = Math.max(0, Math.min(1, (event.clientX - left) / width));
  time.stop();
  goToStep(plot.closest("[data-scale]") ? first * (shown / first) ** share : share * shown);
};

document.addEventListener("pointerdown", (event) => {
  const plot = event.target.closest?.(".plot");
  if (!plot || !page.data.steps?.length || event.target.closest(".mark-at")) return;
  plot.setPointerCapture(event.pointerId);
  charts.drag(plot, event);
  const move = (moved) => charts.drag(plot, moved);
  plot.addEventListener("pointermove", move);
  const end = () => plot.removeEventListener("pointermove", move);
  plot.addEventListener("pointerup", end, { once: true });
  plot.addEventListener("pointercancel", end, { once: true });
});

// The last step that is shown, and that at which a logarithmic axis begins.
charts.axis = (element) => ["--shown", "--first"].map((name) =>
  +getComputedStyle(element).getPropertyValue(name));

// Curves on a logarithmic axis, or as they were drawn.
const drawnAt = new WeakMap();
charts.lay = (chart) => {
  const [shown, first] = charts.axis(chart), end = +getComputedStyle(chart).getPropertyValue("--end");
  const width = (1000 * shown) / end, along = (x) =>
    (width * Math.log(Math.max(1, (x * end) / 1000 / first))) / Math.log(shown / first);
  for (const curve of all(".curve", chart)) {
    if (!drawnAt.has(curve)) drawnAt.set(curve, curve.getAttribute("points"));
    const points = drawnAt.get(curve);
    curve.setAttribute("points", !chart.dataset.scale ? points : points.split(" ").map((point) => {
      const [x, y] = point.split(",");
      return `${along(+x).toFixed(2)},${y}`;
    }).join(" "));
  }
};

charts.scale = (chart, log) => {
  if (log) chart.dataset.scale = "log";
  else delete chart.dataset.scale;
  chart.querySelector("button.log").setAttribute("aria-pressed", String(log));
  charts.lay(chart);
};

// Shows the whole run, or the part in which things happen.
charts.extend = (chart, whole) => {
  const button = chart.querySelector(".whole"), { cut, end } = button.dataset;
  chart.dataset.range = whole ? "end" : "cut";
  chart.style.setProperty("--shown", whole ? end : cut);
  const box = `0 0 ${whole ? 1000 : (1000 * cut) / end} 100`;
  for (const drawing of all(".plot > svg", chart)) drawing.setAttribute("viewBox", box);
  if (chart.dataset.scale) charts.lay(chart);
  const words = (step) => (+step).toLocaleString("en");
  button.textContent = whole ? `show steps up to ${words(cut)}`
    : `show the whole run, ${words(end)} steps`;
};

document.addEventListener("click", (event) => {
  const log = event.target.closest?.("button.log");
  if (log) {
    page.log = log.getAttribute("aria-pressed") === "false";
    charts.scale(log.closest(".chart"), page.log);
  }
  const chart = event.target.closest?.(".whole")?.closest(".chart");
  if (!chart) return;
  page.whole = chart.dataset.range === "cut";
  charts.extend(chart, page.whole);
  refresh();
});
parts.push(charts);
