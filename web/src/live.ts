import { prepared } from "./run";
import type { View } from "./view.svelte";

const [EVERY, PATIENCE] = [1000, 20_000];

const get = (address: string) =>
  fetch(address, { cache: "no-store", signal: AbortSignal.timeout(PATIENCE) });

/** Keep a served page of some version up to date: take in new data when that changes. */
export function follow(view: View, version: string): () => void {
  let seen = version;
  let looking = false;

  async function look(): Promise<void> {
    if (looking || document.hidden) return;
    looking = true;
    try {
      const answer = await get("version");
      const now = (await answer.text()).trim();
      if (answer.ok && now !== seen) {
        view.renew(await prepared(await (await get("data.json")).json()));
        seen = now;
      }
      view.connection = answer.status === 404 ? "not there any more" : "live";
    } catch {
      view.connection = "server stopped";
    }
    looking = false;
  }

  view.connection = "live";
  const timer = setInterval(look, EVERY);
  return () => clearInterval(timer);
}
