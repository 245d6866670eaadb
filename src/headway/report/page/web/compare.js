// What is pointed at: a relation, in whichever circuit, layer and head; or a run, wherever shown.
const compare = {};

const relationOf = ({ dataset }) => dataset.relation ?? dataset.path?.split(".").slice(2).join(".");

const keyOf = (event) => {
  const element = event.target.closest?.("[data-path], [data-relation], [data-run]");
  if (!element) return null;
  const relation = relationOf(element);
  return relation === undefined ? `run ${element.dataset.run}` : `relation ${relation}`;
};

compare.light = (key) => {
  const [, kind, name] = key?.match(/^(run|relation) (.*)$/) ?? [];
  document.body.classList.toggle("picking", kind === "relation");
  document.body.classList.toggle("choosing", kind === "run");
  for (const element of all("[data-path], [data-relation], [data-run]")) {
    const relation = relationOf(element);
    const lit = kind === "run" ? element.dataset.run === name
      : kind === "relation" && relation === name;
    element.classList.toggle("lit", lit);
    if (element.matches(".arrow")) {
      element.setAttribute("aria-pressed", String(page.pinned === `relation ${relation}`));
    }
  }
};

document.addEventListener("pointerover", (event) => {
  if (keyOf(event) !== page.pointed) point(keyOf(event));
});
document.addEventListener("focusin", (event) => {
  if (keyOf(event) !== page.pointed) point(keyOf(event));
});
document.addEventListener("click", (event) => {
  if (keyOf(event) && !event.target.closest("a, button")) point(keyOf(event), true);
});
document.addEventListener("keydown", (event) => {
  const arrow = event.target.closest?.(".arrow");
  if (event.key === "Escape") {
    page.pinned = null;
    point(null);
  } else if (arrow && (event.key === "Enter" || event.key === " ")) {
    event.preventDefault();
    point(keyOf(event), true);
  }
});
parts.push(compare);
