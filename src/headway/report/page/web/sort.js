// Tables that a click on a column's name sorts: numbers by size, words by alphabet, blanks last.
const cellValue = (row, column) => {
  const cell = row.children[column];
  if (!cell) return null;
  const text = cell.querySelector("data")?.getAttribute("value")
    ?? cell.querySelector("output")?.dataset.exact ?? cell.querySelector("time")?.dateTime ?? cell.textContent.trim();
  if (text === "" || text === "—") return null;
  return text !== "" && !Number.isNaN(+text) ? +text : text;
};

const before = (a, b) => {
  if (a === null || b === null) return (a === null) - (b === null);
  if (typeof a === "number" && typeof b === "number") return a - b;
  return String(a).localeCompare(String(b), "en", { numeric: true });
};

// How tables were sorted, by what they are called, so that a page that was changed keeps it.
const sorted = new Map();

function sortBy(header, down = header.getAttribute("aria-sort") === "ascending") {
  const table = header.closest("table"), column = [...header.parentNode.children].indexOf(header);
  for (const other of all("th", table)) other.removeAttribute("aria-sort");
  header.setAttribute("aria-sort", down ? "descending" : "ascending");
  sorted.set(table.parentNode.ariaLabel, [column, header.textContent, down]);
  const rows = [...table.tBodies[0].rows].map((row) => [cellValue(row, column), row]);
  rows.sort(([a], [b]) => (a === null || b === null || !down ? before(a, b) : before(b, a)));
  table.tBodies[0].append(...rows.map(([, row]) => row));
}

parts.push({ start: () => {
  for (const header of all(".sortable thead th")) {
    if (header.querySelector(".sort")) continue;
    const button = made("button", { type: "button", class: "sort" });
    button.append(...header.childNodes);
    header.append(button);
    button.addEventListener("click", () => sortBy(header));
  }
  for (const table of all(".sortable table")) {
    const [column, name, down] = sorted.get(table.parentNode.ariaLabel) ?? [];
    const heads = [...table.tHead.rows[0].children];
    const header = [heads[column], ...heads].find((one) => one?.textContent === name);
    if (header) sortBy(header, down);
  }
} });
