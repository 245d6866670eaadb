// To take away: a figure as SVG, a table as CSV. And the theme.
const LOOKS = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-linecap",
  "stroke-opacity", "opacity", "font-family", "font-size", "font-weight", "font-style",
  "text-anchor", "vector-effect", "display", "paint-order", "stroke-linejoin"];

// A drawing on the page as it looks now, without the page's styles.
function frozen(svg) {
  const copy = svg.cloneNode(true), before = [svg, ...all("*", svg)], after = [copy, ...all("*", copy)];
  before.forEach((element, i) => {
    const style = getComputedStyle(element);
    const look = LOOKS.map((name) => `${name}:${style.getPropertyValue(name)}`).join(";");
    after[i].setAttribute("style", look);
    for (const name of ["class", "tabindex", "role", "aria-pressed"]) after[i].removeAttribute(name);
  });
  for (const hidden of all("[style*='display:none']", copy)) hidden.remove();
  return copy;
}

// The lines of a text as the page breaks them, each where it stands.
function linesOf(text) {
  const range = document.createRange(), lines = [];
  for (const { 0: word, index } of text.data.matchAll(/\S+/g)) {
    range.setStart(text, index);
    range.setEnd(text, index + word.length);
    const at = range.getBoundingClientRect(), line = lines.at(-1);
    if (line && Math.abs(line.at.bottom - at.bottom) < 1) line.words += ` ${word}`;
    else lines.push({ words: word, at });
  }
  return lines;
}

// Anything on the page as one SVG: drawings and canvases where they stand, words as text. What is
// scrolled out of sight is there too.
function asSvg(root) {
  const { left, top } = root.getBoundingClientRect();
  const frame = { left: left - root.scrollLeft, top: top - root.scrollTop };
  const [width, height] = [root.scrollWidth, root.scrollHeight];
  const out = svgElement("svg", { xmlns: SVG, width, height, viewBox: `0 0 ${width} ${height}` });
  const paper = getComputedStyle(root).backgroundColor;
  svgElement("rect", { width: "100%", height: "100%", fill: paper }, out);
  const place = (box) => ({ x: (box.left - frame.left).toFixed(1), y: (box.top - frame.top).toFixed(1),
    width: box.width.toFixed(1), height: box.height.toFixed(1) });
  const visit = (element) => {
    const style = getComputedStyle(element), box = element.getBoundingClientRect();
    if (style.display === "none" || style.visibility === "hidden" || element.matches("button, .controls")) return;
    if (element.matches("svg")) {
      const copy = frozen(element);
      for (const [key, value] of Object.entries(place(box))) copy.setAttribute(key, value);
      copy.style.maxWidth = "none";
      if (element.closest(".plot")) copy.style.overflow = "hidden";
      out.append(copy);
      return;
    }
    if (element.matches("canvas")) {
      svgElement("image", { ...place(box), href: element.toDataURL(), preserveAspectRatio: "none",
        style: "image-rendering:pixelated" }, out);
      const edge = getComputedStyle(element.parentElement).outlineColor;
      svgElement("rect", { ...place(box), fill: "none", stroke: edge }, out);
      return;
    }
    const filled = style.backgroundColor;
    if (element !== root && !/^rgba.*, 0\)$|transparent/.test(filled) && box.width) {
      svgElement("rect", { ...place(box), fill: filled, rx: parseFloat(style.borderRadius) || 0 }, out);
    }
    if (element.matches(".plot, .cursor")) { // axes, and the line where the page stands
      const { x, y, width, height } = place(box);
      svgElement("path", { d: `M${x},${y}v${height}${element.matches(".plot") ? `h${width}` : ""}`,
        fill: "none", stroke: style.borderLeftColor, "stroke-width": style.borderLeftWidth }, out);
    }
    for (const child of element.childNodes) {
      if (child.nodeType === Node.ELEMENT_NODE) visit(child);
      if (child.nodeType !== Node.TEXT_NODE) continue;
      const upwards = style.writingMode !== "horizontal-tb";
      for (const { words, at } of linesOf(child)) {
        const x = (upwards ? at.right - 0.22 * at.width : at.left) - frame.left;
        const y = at.bottom - (upwards ? 0 : 0.22 * at.height) - frame.top;
        svgElement("text", { x: x.toFixed(1), y: y.toFixed(1), fill: style.color,
          ...(upwards ? { transform: `rotate(-90 ${x.toFixed(1)} ${y.toFixed(1)})` } : {}),
          style: `font:${style.fontStyle} ${style.fontWeight} ${style.fontSize}`
            + ` ${style.fontFamily.replaceAll('"', "'")}` }, out).textContent = words;
      }
    }
  };
  visit(root);
  return new XMLSerializer().serializeToString(out);
}

function save(text, type, name) {
  const link = made("a", { href: URL.createObjectURL(new Blob([text], { type })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

function asCsv(table) {
  const cell = (element) => {
    const box = element.querySelector("input"), copy = element.cloneNode(true);
    for (const one of all("data", copy)) one.textContent = one.value;
    for (const one of all("output", copy)) one.textContent = one.dataset.exact || one.textContent;
    for (const one of all("br", copy)) one.replaceWith("; ");
    const text = box ? (box.checked ? "on" : "off")
      : copy.textContent.replace(/\s+/g, " ").trim().replace(/ ✗$/, "");
    return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return all("tr", table).map((row) => [...row.children].map(cell).join(",")).join("\n") + "\n";
}

async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch { // not allowed, or an old browser
    const area = document.body.appendChild(made("textarea", {}, text));
    area.select();
    document.execCommand("copy");
    area.remove();
  }
}

document.addEventListener("click", async (event) => {
  const button = event.target.closest?.(".keep");
  if (!button) return;
  const figure = button.closest("figure"), run = document.body.dataset.name;
  if (figure) {
    save(asSvg(figure.querySelector(".card")), "image/svg+xml", `${run}-${figure.dataset.name}.svg`);
  } else {
    const words = button.textContent;
    await copied(asCsv(button.closest(".tabled").querySelector("table")));
    button.textContent = "copied";
    setTimeout(() => { button.textContent = words; }, 1200);
  }
});

// What is folded is printed, too.
addEventListener("beforeprint", () => {
  for (const fold of all("details:not([open])")) fold.dataset.folded = fold.open = true;
});
addEventListener("afterprint", () => {
  for (const fold of all("details[data-folded]")) {
    fold.open = false;
    delete fold.dataset.folded;
  }
});

byId("theme").addEventListener("click", () => {
  const root = document.documentElement, dark = getComputedStyle(root).colorScheme === "dark"
    || (!root.dataset.theme && matchMedia("(prefers-color-scheme: dark)").matches);
  root.dataset.theme = dark ? "light" : "dark";
  for (const part of parts) part.themed?.();
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  for (const part of parts) part.themed?.();
});
