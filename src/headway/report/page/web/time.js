// The bar at the bottom: where in training the page stands.
const time = { timer: null, places: [] };

time.stop = () => {
  clearTimeout(time.timer);
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
  const unit = Math.max(40, Math.min(160, 8000 / time.places.at(-1)));
  const next = () => {
    if (page.at >= last()) return time.stop();
    time.timer = setTimeout(() => {
      goTo(page.at + 1);
      next();
    }, unit * (time.places[page.at + 1] - time.places[page.at]));
  };
  next();
};

time.start = () => {
  const count = page.data.steps?.length ?? 0;
  const born = (page.data.paths ?? []).filter((path) => (path.born ?? null) !== null);
  time.lay(born.map((path) => path.born));
  byId("time").hidden = count < 2;
  byId("when").max = time.places.at(-1) ?? 0;
  byId("play").disabled = still.matches;
  byId("play").title = still.matches ? "off, as this system asks for reduced motion" : "";
  byId("marks").replaceChildren(...born.map((path) => made("i", { class: path.colour,
    "data-path": path.key, style: `--at:${time.along(path.born) / Math.max(1, time.places.at(-1))}`,
    title: `${path.name} ${path.relation} born at step ${Math.round(path.born)}` })));
};

// Where every checkpoint stands on the slider, along which playback moves at one speed. The steps in
// which paths are born get about a third of it, so that they can be told apart.
time.lay = (born) => {
  const steps = page.data.steps ?? [], first = Math.min(...born), last = Math.max(...born);
  const births = steps.map((step, i) => i > 0 && step >= first && steps[i - 1] <= last);
  const some = births.filter(Boolean).length;
  const wide = Math.max(1, Math.min(12, Math.round((steps.length - some) / (2 * some))));
  let place = 0;
  time.places = steps.map((_, i) => i ? place += births[i] ? wide : 1 : 0);
};

// Where a step that lies between checkpoints stands on the slider.
time.along = (step) => {
  const { steps } = page.data, after = Math.max(1, steps.findIndex((at) => at >= step));
  const [low, high] = [steps[after - 1], steps[after]], [from, to] = time.places.slice(after - 1);
  return high === undefined ? 0 : from + ((to - from) * (step - low)) / (high - low);
};

time.show = () => {
  const step = page.data.steps?.[page.at];
  if (step === undefined) return;
  byId("when").value = time.places[page.at];
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
  const off = time.places.map((place) => Math.abs(place - event.target.value));
  time.stop();
  goTo(off.indexOf(Math.min(...off)));
});
byId("play")?.addEventListener("click", time.play);
document.addEventListener("keydown", (event) => {
  if (!page.data.steps || event.ctrlKey || event.metaKey || event.altKey) return;
  const slides = event.target.matches("#when");
  const typing = !slides && event.target.closest("input, textarea, select");
  const scrolls = event.target.closest(".scroll, .card");
  const wide = scrolls && scrolls.scrollWidth > scrolls.clientWidth;
  const moves = { ArrowLeft: page.at - 1, ArrowRight: page.at + 1 };
  if (slides) Object.assign(moves, { ArrowDown: page.at - 1, ArrowUp: page.at + 1 });
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
