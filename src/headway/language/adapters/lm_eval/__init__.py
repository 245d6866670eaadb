"""Tasks of lm-evaluation-harness: the YAML files beside this one, found by `--include_path`."""

from pathlib import Path

FOLDER = Path(__file__).parent
"""What `lm_eval --include_path` takes."""
