"""The page of a run: `render` puts it together, a module a section; `web/` runs in the browser."""
