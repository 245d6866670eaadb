import { prepared } from "./run";
import type { View } from "./view.svelte";

const [EVERY, PATIENCE] = [1000, 20_000];

const get = (address: string) =>
  fetch(address, { cache: "no-store", signal: AbortSignal.timeout(PATIENCE) });

/** Keep a served page of some version up to date: take in new data when that changes. */
export async function follow(view: View, version: string): Promise<never> {
  view.connection = "live";
  for (;;) {
    await new Promise((done) => setTimeout(done, EVERY));
    if (document.hidden) continue;
    try {
      const answer = await get("version");
      const now = (await answer.text()).trim();
      if (answer.ok && now !== version) {
        view.renew(await prepared(await (await get("data.json")).json()));
        version = now;
      }
      view.connection = answer.status === 404 ? "not there any more" : "live";
    } catch {
      view.connection = "server stopped";
    }
  }
}
