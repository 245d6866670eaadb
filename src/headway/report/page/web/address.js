// The address keeps section, step and path, so that what is seen can be sent:
// #births&step=250&path=2.0.s0-s4&cut. What it does not know it ignores.
const address = { section: "", going: "", timer: null };

const slug = (key) => key.replaceAll("←", "-");
const plain = (text) => {
  try {
    return decodeURIComponent(text);
  } catch { // a percent sign that stands for nothing
    return text;
  }
};

address.read = () => {
  const found = { section: "", step: null, path: null, cut: false };
  for (const part of location.hash.slice(1).split("&")) {
    const [name, value] = [part.split("=", 1)[0], plain(part.slice(part.indexOf("=") + 1))];
    if (name === "step" && /^\d{1,15}$/.test(value)) found.step = +value;
    if (name === "path") found.path = page.data.paths?.find(({ key }) => slug(key) === value)?.key ?? null;
    if (part === "cut") found.cut = true;
    if (byId(part)?.matches("main > section")) found.section = part;
  }
  return found;
};

// While the page itself scrolls to a section, those that pass by do not enter the address.
address.goTo = (section) => {
  address.section = address.going = section.id;
  section.scrollIntoView();
};
for (const how of ["wheel", "touchmove", "keydown", "pointerdown"]) {
  addEventListener(how, () => address.going = "", { passive: true });
}
addEventListener("scrollend", () => { // a short last section is never seen further up
  if (scrollY + innerHeight + 1 >= document.documentElement.scrollHeight) address.going = "";
});

address.follow = () => {
  const { section, step, path, cut } = address.read();
  if (page.data.steps?.length) step === null ? goTo(Infinity) : goToStep(step);
  page.pinned = null;
  choose(path, cut);
  address.section = section;
  if (section) address.goTo(byId(section));
};

address.write = (how) => {
  if (!/^(https?|file):$/.test(location.protocol)) return; // inside another page
  const { steps } = page.data, parts = [address.section];
  if (steps?.length && page.at < steps.length - 1) parts.push(`step=${steps[page.at]}`);
  if (page.pinned) parts.push(`path=${encodeURIComponent(slug(page.pinned))}`);
  if (page.pinned && page.cut) parts.push("cut");
  const hash = parts.filter(Boolean).join("&");
  if (`#${hash}` === (location.hash || "#")) return;
  history[how](null, "", hash ? `#${hash}` : location.pathname + location.search);
};

// What stays as it is for a moment can be gone back to; what passes by cannot.
address.show = address.light = () => {
  clearTimeout(address.timer);
  address.timer = setTimeout(() => time.timer || address.write("pushState"), 250);
};

let watcher = null;
address.start = () => {
  watcher?.disconnect();
  watcher = new IntersectionObserver((seen) => {
    for (const { target, isIntersecting } of seen) {
      if (address.going && !(isIntersecting && target.id === address.going)) continue;
      address.going = "";
      if (isIntersecting) address.section = scrollY ? target.id : "";
      else if (address.section === target.id && !scrollY) address.section = "";
    }
    address.write("replaceState");
  }, { rootMargin: "-25% 0px -74% 0px" });
  for (const section of all("main > section")) watcher.observe(section);
  if (address.started) return;
  address.started = true;
  address.follow();
};

document.addEventListener("click", (event) => {
  const link = event.target.closest?.('a[href^="#"]'), to = link && byId(link.hash.slice(1));
  if (!to) return;
  event.preventDefault();
  address.goTo(to);
  address.write("pushState");
});
addEventListener("popstate", address.follow);
parts.push(address);
