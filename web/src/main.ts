import { mount, unmount } from "svelte";

import App from "./App.svelte";
import css from "./app.css?inline";
import type { Page, RunPage } from "../data";
import { follow } from "./live";
import { prepared } from "./run";
import { type Traits, View } from "./view.svelte";

function styled(root: Document | ShadowRoot): void {
  const style = document.createElement("style");
  style.textContent = css;
  (root instanceof Document ? root.head : root).append(style);
}

/** Draw the page whose data stand in the document. */
async function start(script: HTMLElement, target: HTMLElement): Promise<void> {
  const page = JSON.parse(script.textContent ?? "") as Page;
  const view = new View(await prepared(page));
  view.readAddress();
  styled(document);
  target.replaceChildren();
  mount(App, { target, props: { view } });
  if (page.live) void follow(view, page.live);
  if (parent !== window) new ResizeObserver(tellHeight).observe(document.body);
}

/** Tell the page around this one, if there is one, how high this is. */
function tellHeight(): void {
  parent.postMessage({ headwayHeight: Math.ceil(document.body.scrollHeight) }, "*");
}

interface Model {
  get(name: string): unknown;
  set(name: string, value: unknown): void;
  save_changes(): void;
  on(event: string, act: () => void): void;
  off(event: string, act: () => void): void;
}

const DARK = '[data-jp-theme-light="false"], .vscode-dark, .dark, [theme="dark"]';
const LIGHT = '[data-jp-theme-light="true"], .vscode-light, .light, [theme="light"]';

/** Follow the theme of the notebook, as Jupyter, VS Code, marimo and Colab tell it. */
function followTheme(el: HTMLElement): () => void {
  const roots = [document.documentElement, document.body];
  const show = () => {
    const is = (theme: string) => roots.some((root) => root.matches(theme));
    el.style.colorScheme = is(DARK) ? "dark" : is(LIGHT) ? "light" : "";
  };
  const watch = new MutationObserver(show);
  for (const root of roots) watch.observe(root, { attributes: true });
  show();
  return () => watch.disconnect();
}

/** Draw a run in a notebook, as anywidget asks for it; steps, paths and cuts go both ways. */
export async function render({ model, el }: { model: Model; el: HTMLElement }) {
  const root = el.shadowRoot ?? el.attachShadow({ mode: "open" });
  root.replaceChildren();
  styled(root);
  const page = JSON.parse(model.get("_data") as string) as RunPage;
  const view = new View(await prepared(page));
  const follow = () => view.take({
    step: model.get("step") as number | null,
    path: model.get("path") as string | null,
    cut: model.get("cut") as boolean,
  });
  follow();
  view.tell = (traits: Traits) => {
    const changed = Object.entries(traits).filter(([name, value]) => model.get(name) !== value);
    for (const [name, value] of changed) model.set(name, value);
    if (changed.length) model.save_changes();
  };
  const events = ["change:step", "change:path", "change:cut"];
  for (const event of events) model.on(event, follow);
  const app = mount(App, { target: root, props: { view } });
  const letGo = followTheme(el);
  return () => {
    letGo();
    for (const event of events) model.off(event, follow);
    void unmount(app);
  };
}

export default { render };

const script = document.querySelector<HTMLElement>("script#data[type='application/json']");
const target = document.querySelector<HTMLElement>("main#app");
if (script && target) void start(script, target);
