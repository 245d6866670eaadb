// The bar at the bottom: where in training the page stands.
const time = { timer: null };

time.stop = () => {
  clearInterval(time.timer);
  time.timer = null;
  byId("play").textContent = "▶";
  byId("play").setAttribute("aria-label", "play");
};

time.play = () => {
  if (time.timer) return time.stop();
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
    page.pinned = null;
    page.off = null;
    point(null);
    refresh();
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
