// Inside another page, such as a notebook: tells it where this page stands, and goes where it says.
const host = { told: null }; // what both know; nothing before the other page has said anything

host.state = () => ({ step: page.data.steps?.[page.at] ?? 0, path: page.pinned, cut: page.cut });

host.show = host.light = () => {
  const state = host.state(), text = JSON.stringify(state);
  if (host.told === null || host.told === text) return;
  host.told = text;
  parent.postMessage({ state }, "*");
};

host.follow = ({ step, path, cut, theme }) => {
  host.told = null;
  if (theme) document.documentElement.dataset.theme = theme;
  time.stop();
  if (page.data.steps?.length) goToStep(step);
  page.pinned = null;
  choose(page.data.paths?.some(({ key }) => key === path) ? path : null, cut);
  host.told = JSON.stringify(host.state());
};

addEventListener("message", ({ source, data }) => {
  if (source === parent && data?.state) host.follow(data.state);
});

host.start = () => {
  new ResizeObserver(() => {
    parent.postMessage({ height: Math.ceil(document.body.getBoundingClientRect().height) }, "*");
  }).observe(document.body);
  parent.postMessage({ ready: true }, "*");
};
parts.push(host);
