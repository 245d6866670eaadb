import type { Page } from "./data";
import { prepared } from "./run";
import type { View } from "./view.svelte";

const EVERY = 1000;
const LONGEST = 8000;
const PATIENCE = 20000;

async function get(address: string): Promise<Response | null> {
  const answer = await fetch(address, { cache: "no-store", signal: AbortSignal.timeout(PATIENCE) });
  if (answer.status === 404) return null;
  if (!answer.ok) throw new Error(`${address}: ${answer.status}`);
  return answer;
}

/** Keep a served page of some version up to date: take in new data when that changes. */
export function follow(view: View, version: string): () => void {
  let seen = version;
  let wait = EVERY;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let over = false;

  async function look(): Promise<void> {
    const now = (await (await get("version"))?.text())?.trim();
    if (now === undefined) return void (view.connection = "not there any more");
    if (now !== seen) {
      const answer = await get("data.json");
      if (answer === null) return void (view.connection = "not there any more");
      view.renew(await prepared((await answer.json()) as Page));
      seen = now;
    }
    view.connection = "live";
  }

  async function again(): Promise<void> {
    try {
      if (!document.hidden) await look();
      wait = EVERY;
    } catch {
      wait = Math.min(2 * wait, LONGEST);
      view.connection = "server stopped";
    }
    if (!over) timer = setTimeout(again, wait);
  }

  const shown = () => {
    if (document.hidden) return;
    clearTimeout(timer);
    void again();
  };
  document.addEventListener("visibilitychange", shown);
  view.connection = "live";
  timer = setTimeout(again, EVERY);
  return () => {
    over = true;
    clearTimeout(timer);
    document.removeEventListener("visibilitychange", shown);
  };
}
