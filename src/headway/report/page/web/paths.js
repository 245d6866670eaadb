// The table of paths: groups of columns that unfold. And the circuit, kept in sight where it is not.
const unfold = (group, open) => {
  const box = document.querySelector(".unfolding");
  const groups = new Set(box.dataset.open.split(" ").filter(Boolean));
  groups[open ?? !groups.has(group) ? "add" : "delete"](group);
  page.unfolded = box.dataset.open = [...groups].join(" ");
  for (const button of all("button[data-unfold]")) {
    button.setAttribute("aria-pressed", String(groups.has(button.dataset.unfold)));
  }
};

document.addEventListener("click", (event) => {
  const asked = event.target.closest?.("[data-unfold]");
  if (asked) unfold(asked.dataset.unfold, asked.matches("button") ? undefined : true);
  const dock = event.target.closest?.("#dock");
  if (dock) dock.setAttribute("aria-pressed", String(document.body.classList.toggle("docked")));
});

parts.push({ start: () => {
  const drawn = document.querySelector("main > aside");
  byId("dock").hidden = !drawn;
  const groups = page.unfolded?.split(" ") ?? [];
  if (document.querySelector(".unfolding")) groups.filter(Boolean).forEach((each) => unfold(each, true));
} });
