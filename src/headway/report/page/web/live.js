// Keeps a page of `headway serve` up to date: asks for its version every second, and on a change
// puts in what is new. The page's own scripts are told by `window.headway.restart()`.
(() => {
  const EVERY = 1000, LONGEST = 8000, PATIENCE = 20000;
  const GOOD = "#00966b", BAD = "#c2490c";
  const all = (root, selector) => [...root.querySelectorAll(selector)];
  const versionOf = (page) => page.querySelector('meta[name="version"]')?.content;
  const machinery = (page) => all(page, "style, script:not([type$=json])").map((e) => e.textContent);

  // A small element in the corner: the way back, and whether the server answers.
  const corner = document.createElement("aside"), dot = document.createElement("span");
  const words = Object.assign(document.createElement("span"), { id: "connection" });
  words.setAttribute("role", "status");
  if (location.pathname !== "/") {
    const back = Object.assign(document.createElement("a"), { href: "/", textContent: "all runs" });
    back.style.marginRight = "12px";
    corner.append(back);
  }
  corner.append(dot, words);
  corner.style.cssText = "position:fixed;right:48px;top:8px;z-index:9;padding:4px 12px;"
    + "border:1px solid var(--line,#dfe2e5);border-radius:99px;background:var(--paper,#fff);"
    + "color:var(--soft,#5b626a);font:600 12.5px/1.5 system-ui,sans-serif";
  dot.style.cssText = "display:inline-block;width:8px;height:8px;margin-right:6px;border-radius:50%";
  document.body.append(corner);
  const say = (text, colour) => {
    if (words.textContent !== text) words.textContent = text;
    dot.style.background = colour;
  };

  // What the reader had opened, scrolled and focused stays so.
  const nameOf = (details) => details.querySelector("summary")?.textContent;
  const places = () => ({
    open: new Map(all(document, "details").map((e) => [nameOf(e), e.open])),
    scrolled: all(document, "[tabindex='0']").map((e) => [e.scrollLeft, e.scrollTop]),
    focused: document.activeElement?.id,
  });
  const restore = ({ open, scrolled, focused }) => {
    for (const e of all(document, "details")) e.open = open.get(nameOf(e)) ?? e.open;
    all(document, "[tabindex='0']").forEach((e, i) => {
      if (scrolled[i]?.some(Boolean)) [e.scrollLeft, e.scrollTop] = scrolled[i];
    });
    if (focused && document.activeElement?.id !== focused) {
      document.getElementById(focused)?.focus({ preventScroll: true });
    }
  };

  let seen = versionOf(document), wait = EVERY, asking = false, timer = null;

  const show = (page) => {
    const here = new Set(machinery(document));
    // A page of other styles or scripts (a reason why there is none, a newer headway) starts anew.
    if (machinery(page).some((text) => !here.has(text))) return location.reload();
    const before = places();
    for (const selector of ["header", "main", "#data"]) {
      const old = document.querySelector(selector), fresh = page.querySelector(selector);
      if (old && fresh) old.replaceChildren(...fresh.childNodes);
      else if (fresh) document.body.append(fresh);
    }
    document.title = page.title;
    restore(before);
    window.headway?.restart?.();
  };

  const get = async (address) => {
    const answer = await fetch(address, {
      cache: "no-store", signal: AbortSignal.timeout(PATIENCE),
    });
    return answer.status === 404 ? null : answer.text();
  };

  // The page, if there is another one by now.
  const news = async () => {
    const version = (await get("version"))?.trim();
    if (version === seen) return { gone: false };
    const text = version === undefined ? null : await get(location.pathname);
    if (text === null) return { gone: true };
    const page = new DOMParser().parseFromString(text, "text/html");
    seen = versionOf(page) ?? version;
    return { gone: false, page };
  };

  const look = async () => {
    if (asking) return;
    asking = true;
    clearTimeout(timer);
    let page;
    try {
      const found = await news();
      page = found.page;
      wait = EVERY;
      say(...(found.gone ? ["not there any more", BAD] : ["live", GOOD]));
    } catch {
      wait = Math.min(2 * wait, LONGEST);
      say("server stopped", BAD);
    }
    asking = false;
    if (!document.hidden) timer = setTimeout(look, wait);
    if (page) show(page);
  };

  document.addEventListener("visibilitychange", () => document.hidden || look());
  say("live", GOOD);
  timer = setTimeout(look, EVERY);
})();
