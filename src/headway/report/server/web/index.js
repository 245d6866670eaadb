// The list of runs: a filter, and how long ago each was written to.
(() => {
  const filter = document.getElementById("filter"), matching = document.getElementById("matching");
  if (!filter) return;
  const UNITS = [["day", 86400], ["hour", 3600], ["min", 60], ["s", 1]];
  const ago = (seconds) => {
    if (seconds < 2) return "just now";
    const [unit, length] = UNITS.find(([, length]) => seconds >= length);
    const number = Math.floor(seconds / length);
    return `${number} ${unit}${unit.length > 3 && number > 1 ? "s" : ""} ago`;
  };
  const tell = () => {
    for (const time of document.querySelectorAll("time")) {
      const when = new Date(time.dateTime);
      time.title = when.toLocaleString();
      time.textContent = ago((Date.now() - when) / 1000);
    }
  };
  const sift = () => {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0, all = 0;
    for (const section of document.querySelectorAll("main section")) {
      const name = section.querySelector("h2 bdi")?.textContent ?? "";
      let left = 0;
      for (const row of section.querySelectorAll("tbody tr")) {
        const text = `${name} ${row.dataset.words}`.toLowerCase();
        row.hidden = !words.every((word) => text.includes(word));
        all += 1;
        left += !row.hidden;
      }
      section.hidden = !left;
      shown += left;
    }
    matching.textContent = words.length ? `${shown} of ${all}` : "";
  };
  const restart = () => { tell(); sift(); };
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
