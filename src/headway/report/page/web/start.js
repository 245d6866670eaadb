// Once at the start, and again whenever a served page was changed.
function restart() {
  const before = page.data.steps?.[page.at];
  const followed = before === undefined || page.at === page.data.steps.length - 1;
  page.data = JSON.parse(byId("data").textContent);
  const { steps } = page.data;
  if (steps?.length) {
    page.at = followed ? steps.length - 1 : Math.max(0, steps.findLastIndex((at) => at <= before));
  }
  for (const part of parts) part.start?.();
  refresh();
}
window.headway = { restart, page, goTo };
restart();
