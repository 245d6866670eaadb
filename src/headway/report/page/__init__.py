"""The page of a run: `render` puts it together, a module per section; `web/` runs in the
browser."""
