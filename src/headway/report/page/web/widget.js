// In a notebook: shows a part of a run's page in a frame, where it stands as the widget does.
const NAMES = ["step", "path", "cut"];
const THEMES = {
  dark: 'body[data-jp-theme-light="false"], body.vscode-dark, html[theme="dark"], html.dark',
  light: 'body[data-jp-theme-light="true"], body.vscode-light, html[theme="light"], html.light',
};

function render({ model, el }) {
  const frame = document.createElement("iframe");
  frame.title = "circuit and curves of a run";
  frame.sandbox = "allow-scripts";
  frame.style.cssText = "display: block; width: 100%; height: 480px; border: 0";
  frame.srcdoc = model.get("_page");

  let hearing = false; // what the frame says need not be said to it
  const tell = () => {
    if (hearing) return;
    const state = Object.fromEntries(NAMES.map((name) => [name, model.get(name)]));
    const theme = Object.keys(THEMES).find((name) => document.querySelector(THEMES[name]));
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
  window.addEventListener("message", hear);
  for (const name of NAMES) model.on(`change:${name}`, tell);
  el.append(frame);
  return () => {
    window.removeEventListener("message", hear);
    for (const name of NAMES) model.off(`change:${name}`, tell);
  };
}

export default { render };
