// The list of runs: a filter, how long ago each was written to, and runs to compare.
(() => {
  const filter = byId("filter"), matching = byId("matching"), compare = byId("compare");
  const ticked = new Set();
  if (!filter) return;
  const UNITS = [["day", 86400], ["hour", 3600], ["min", 60], ["s", 1]];
  const ago = (seconds) => {
    if (seconds < 2) return "just now";
    const [unit, length] = UNITS.find(([, length]) => seconds >= length);
    const number = Math.floor(seconds / length);
    return `${number} ${unit}${unit.length > 3 && number > 1 ? "s" : ""} ago`;
  };
  const tell = () => {
    for (const time of all("time")) {
      const when = new Date(time.dateTime);
      time.title = when.toLocaleString();
      time.textContent = ago((Date.now() - when) / 1000);
    }
  };
  const sift = () => {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0, known = 0;
    for (const section of all("main section")) {
      const name = section.querySelector("h2 bdi")?.textContent ?? "";
      let left = 0;
      for (const row of all("tbody tr", section)) {
        const text = `${name} ${row.dataset.words}`.toLowerCase();
        row.hidden = !words.every((word) => text.includes(word));
        known += 1;
        left += !row.hidden;
      }
      section.hidden = !left;
      shown += left;
    }
    matching.textContent = words.length ? `${shown} of ${known}` : "";
  };
  const count = () => {
    compare.disabled = ticked.size < 2;
    compare.textContent = ticked.size ? `compare ${ticked.size}` : "compare";
  };
  const restart = () => {
    for (const box of all(".tick")) box.checked = ticked.has(box.value);
    for (const part of parts) part.start?.();
    tell();
    sift();
    count();
  };
  document.addEventListener("change", ({ target }) => {
    if (!target.matches(".tick")) return;
    ticked[target.checked ? "add" : "delete"](target.value);
    count();
  });
  compare.addEventListener("click", () => { location.href = `/compare/${[...ticked].join("/")}/`; });
  try {
    filter.value = decodeURIComponent(location.hash.slice(1));
  } catch { // no address of ours
    filter.value = "";
  }
  filter.addEventListener("input", () => {
    history.replaceState(null, "", `#${encodeURIComponent(filter.value)}`);
    sift();
  });
  addEventListener("keydown", (event) => {
    if (event.key !== "/" || document.activeElement === filter) return;
    event.preventDefault();
    filter.focus();
  });
  setInterval(tell, 1000);
  window.headway = { restart };
  restart();
})();
