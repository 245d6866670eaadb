// The bar at the bottom: where in training the page stands.
const time = { timer: null };

time.stop = () => {
  clearInterval(time.timer);
  time.timer = null;
  byId("play").textContent = "▶";
  byId("play").setAttribute("aria-label", "play");
};

const still = matchMedia("(prefers-reduced-motion: reduce)");
still.addEventListener("change", () => { time.stop(); time.start(); });

time.play = () => {
  if (time.timer || still.matches) return time.stop();
  const last = () => page.data.steps.length - 1; // more may come while it plays
  if (page.at === last()) goTo(0);
  byId("play").textContent = "❚❚";
  byId("play").setAttribute("aria-label", "pause");
  time.timer = setInterval(() => {
    if (page.at >= last()) return time.stop();
    goTo(page.at + 1);
  }, Math.max(40, Math.min(160, 8000 / (last() + 1))));
};

time.start = () => {
  const count = page.data.steps?.length ?? 0;
  byId("time").hidden = count < 2;
  byId("when").max = Math.max(0, count - 1);
  byId("play").disabled = still.matches;
  byId("play").title = still.matches ? "off, as this system asks for reduced motion" : "";
  const born = (page.data.paths ?? []).filter((path) => (path.born ?? null) !== null);
  byId("marks").replaceChildren(...born.map((path) => made("i", { class: path.colour,
    "data-path": path.key, style: `--at:${time.along(path.born) / Math.max(1, count - 1)}`,
    title: `${path.name} ${path.relation} born at step ${Math.round(path.born)}` })));
};

// Where between the checkpoints a step lies, counted in checkpoints.
time.along = (step) => {
  const { steps } = page.data, after = Math.max(1, steps.findIndex((at) => at >= step));
  const [low, high] = [steps[after - 1], steps[after]];
  return high === undefined ? 0 : after - 1 + (step - low) / (high - low);
};

time.show = () => {
  const step = page.data.steps?.[page.at];
  if (step === undefined) return;
  byId("when").value = page.at;
  byId("when").setAttribute("aria-valuetext", `step ${step}`);
  byId("now").textContent = `step ${step.toLocaleString("en")}`;
  const evaluated = page.data.evaluations[page.at];
  const words = [];
  for (const [hop, loss] of Object.entries(evaluated?.partial ?? {})) {
    words.push(made("span", {}, named(hop), ` ${number(loss)}`));
  }
  byId("losses").replaceChildren(...words);
  byId("losses").title = evaluated ? `evaluated at step ${evaluated.step.toLocaleString("en")}` : "";
};

byId("when")?.addEventListener("input", (event) => {
  time.stop();
  goTo(+event.target.value);
});
byId("play")?.addEventListener("click", time.play);
document.addEventListener("keydown", (event) => {
  if (!page.data.steps || event.ctrlKey || event.metaKey || event.altKey) return;
  const typing = event.target.closest("input, textarea, select");
  const scrolls = event.target.closest(".scroll, .card");
  const wide = scrolls && scrolls.scrollWidth > scrolls.clientWidth;
  const moves = { ArrowLeft: page.at - 1, ArrowRight: page.at + 1 };
  if (event.key === "Escape") {
    page.pointed = null;
    choose(null);
  } else if (!typing && !wide && event.key in moves) {
    event.preventDefault();
    time.stop();
    goTo(moves[event.key]);
  } else if (event.key === " " && event.target === document.body) {
    event.preventDefault();
    time.play();
  }
});
parts.push(time);
