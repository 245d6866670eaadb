// The theme puts every button that copies code into a landmark, and its tables scroll without keys.
new MutationObserver(() => {
  for (const one of document.querySelectorAll("nav.md-code__nav")) one.role = "none";
  for (const one of document.querySelectorAll(".md-typeset__scrollwrap")) one.tabIndex = 0;
}).observe(document, { childList: true, subtree: true });
