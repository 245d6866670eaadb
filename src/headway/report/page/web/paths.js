// The table of paths: groups of columns that unfold. And the circuit, kept in sight where it is not.
const unfold = (groups) => {
  page.unfolded = groups;
  for (const box of all(".unfolding")) box.dataset.open = groups.join(" ");
  for (const button of all("button[data-unfold]")) {
    button.setAttribute("aria-pressed", String(groups.includes(button.dataset.unfold)));
  }
};

document.addEventListener("click", (event) => {
  const asked = event.target.closest?.("[data-unfold]"), dock = event.target.closest?.("#dock");
  if (asked) {
    const group = asked.dataset.unfold, others = page.unfolded.filter((each) => each !== group);
    const folds = asked.matches("button") && page.unfolded.includes(group);
    unfold(folds ? others : [...others, group]);
  }
  if (dock) dock.setAttribute("aria-pressed", String(document.body.classList.toggle("docked")));
});

parts.push({ start: () => {
  byId("dock").hidden = !document.querySelector("main > aside");
  unfold(page.unfolded);
} });
