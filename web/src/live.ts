import type { Page } from "../data";
import { prepared } from "./run";
import type { View } from "./view.svelte";

const EVERY = 1000;
const LONGEST = 8000;
const PATIENCE = 20000;
const GONE = "not there any more";
const STOPPED = "server stopped";

async function get(address: string): Promise<Response> {
  const answer = await fetch(address, { cache: "no-store", signal: AbortSignal.timeout(PATIENCE) });
  if (!answer.ok) throw new Error(answer.status === 404 ? GONE : STOPPED);
  return answer;
}

/** Keep a served page of some version up to date: take in new data when that changes. */
export function follow(view: View, version: string): () => void {
  let seen = version;
  let wait = EVERY;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let over = false;

  async function look(): Promise<void> {
    const now = (await (await get("version")).text()).trim();
    if (now !== seen) {
      const page = (await (await get("data.json")).json()) as Page;
      view.renew(await prepared(page));
      seen = now;
    }
    view.connection = "live";
  }

  async function again(): Promise<void> {
    try {
      if (!document.hidden) await look();
      wait = EVERY;
    } catch (error) {
      wait = Math.min(2 * wait, LONGEST);
      view.connection = error instanceof Error && error.message === GONE ? GONE : STOPPED;
    }
    if (!over) timer = setTimeout(again, wait);
  }

  view.connection = "live";
  timer = setTimeout(again, EVERY);
  return () => {
    over = true;
    clearTimeout(timer);
  };
}
