// In a notebook: shows a part of a run's page in a frame, where it stands as the widget does.
const NAMES = ["step", "path", "cut"];
const THEMES = { // as Jupyter, VS Code, marimo and Colab say it, of all the page
  dark: '[data-jp-theme-light="false"], .vscode-dark, .dark, [theme="dark"]',
  light: '[data-jp-theme-light="true"], .vscode-light, .light, [theme="light"]',
};
const ROOTS = [document.documentElement, document.body];
const themeNow = () => Object.keys(THEMES).find((name) => ROOTS.some((it) => it.matches(THEMES[name])));

function render({ model, el }) {
  const frame = document.createElement("iframe");
  frame.title = "circuit and curves of a run";
  frame.sandbox = "allow-scripts";
  frame.style.cssText = "display: block; width: 100%; height: 480px; border: 0";
  frame.srcdoc = model.get("_page");

  let hearing = false; // what the frame says need not be said to it
  let theme;
  const tell = () => {
    if (hearing) return;
    const state = Object.fromEntries(NAMES.map((name) => [name, model.get(name)]));
    theme = themeNow();
    frame.contentWindow?.postMessage({ state: { ...state, theme } }, "*");
  };
  const hear = ({ source, data }) => {
    if (source !== frame.contentWindow) return;
    if (data.ready) tell();
    if (data.height) frame.style.height = `${data.height}px`;
    if (!data.state) return;
    hearing = true;
    for (const name of NAMES) model.set(name, data.state[name]);
    hearing = false;
    model.save_changes();
  };
  const themed = new MutationObserver(() => theme === themeNow() || tell());
  for (const root of ROOTS) themed.observe(root, { attributes: true });
  window.addEventListener("message", hear);
  for (const name of NAMES) model.on(`change:${name}`, tell);
  el.append(frame);
  return () => {
    themed.disconnect();
    window.removeEventListener("message", hear);
    for (const name of NAMES) model.off(`change:${name}`, tell);
  };
}

export default { render };
