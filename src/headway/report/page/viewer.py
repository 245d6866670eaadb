"""Section 5 of the page: attention on one sequence, and a slider through the checkpoints."""

import json
from typing import Any

from headway.report.figures.style import head_colours, hop_lines
from headway.report.findings import SEQUENCES, Findings
from headway.report.layout import arrow_name
from headway.report.page.html import escape, figure, inline_svg, named, section, tag
from headway.report.roles import places


def attention(findings: Findings, svgs: dict[str, str]) -> str:
    """Section 5."""
    if "attention" not in svgs:
        html = tag("p", "The run has no checkpoints yet, so its attention cannot be computed.")
        return section("attention", 5, "Attention", html)
    live = inline_svg(svgs["circuit"], "live") if "circuit" in svgs else ""
    framed = " Framed cells are the circuit's paths." if live else ""
    config = findings.run.config.model
    left_out = config.n_layers * config.n_heads - len(findings.followed_heads)
    if left_out:
        framed += f" Heads outside the circuit ({left_out}) are left out here."
    data = json.dumps(viewer_data(findings), separators=(",", ":")).replace("<", "\\u003c")
    html = f"""
<p>Move through training: each map shows, for one head, how much each role of a chain (row) attends
to each role of the same chain (column), averaged over {SEQUENCES} held-out sequences and all
chains. What is missing in a row goes to other chains.{framed}</p>
<noscript><p class="missing">The slider needs JavaScript; the maps below it do not.</p></noscript>
<div class="card viewer" id="viewer" hidden>
<div class="controls">
<button type="button" id="play">▶ Play</button>
<output id="now" for="when"></output>
<span id="hops">partial losses:</span>
</div>
<svg id="progress" role="img" aria-label="partial losses, with the checkpoint shown"></svg>
<input type="range" id="when" min="0" value="0" step="1" aria-label="checkpoint">
<div id="live" role="img" aria-label="the circuit, arrows as strong as the attention">{live}</div>
<div id="maps"></div>
<p id="readout" class="under">Point at a cell to read it.</p>
</div>
<script type="application/json" id="viewer-data">{data}</script>
"""
    last = findings.checkpoints[-1]
    useful = ", ".join(f"layer {layer} head {head}" for layer, head in findings.useful_heads)
    alt = f"Heat map of every head's attention on one sequence at step {last}. Useful: {useful}"
    caption = (
        f"Every head's attention on the sequence shown in section 1, at step {escape(last)}: white"
        " is 0, full colour is 1. The useful heads are in colour, the others in grey; thin lines"
        " part the blocks of the sequence."
    )
    html += figure(inline_svg(svgs["attention"], "maps"), alt, caption, least_width=720)
    return section("attention", 5, "Attention", html)


def viewer_data(findings: Findings) -> dict[str, Any]:
    """What the page's script draws: attention in hundredths, losses, colours and paths.

    `values` holds one row a checkpoint, in it heads by layer, in each query roles, then key roles.
    """
    steps, attention = findings.attention_over_time()
    standing = places(findings.run.task)
    index = {place.role: i for i, place in enumerate(standing)}
    colours = head_colours(findings.useful_heads)
    mechanisms = findings.discovery.circuit.mechanisms if findings.discovery else {}
    paths = findings.discovery.circuit.paths if findings.discovery else []
    heads = [
        {
            "layer": layer,
            "head": head,
            "colour": colours.get((layer, head)),
            "does": _does(mechanisms.get((layer, head))),
        }
        for layer, head in findings.followed_heads
    ]
    return {
        "steps": steps,
        "severalHeads": findings.run.config.model.n_heads > 1,
        "roles": [place.role for place in standing],
        "symbols": [place.symbol for place in standing],
        "heads": heads,
        "paths": [
            {
                "at": findings.followed_heads.index((layer, head)),
                "query": index[relation.partition("→")[0]],
                "key": index[relation.partition("→")[2]],
                "arrow": "live-" + arrow_name((layer, head, relation)),
            }
            for layer, head, relation in paths
        ],
        "values": (100 * attention).round().int().flatten(1).tolist(),
        "losses": {
            "steps": [line["step"] for line in findings.metrics],
            "hops": [
                {
                    "name": hop,
                    "colour": line.colour,
                    "values": [round(m["partial"][hop], 3) for m in findings.metrics],
                }
                for hop, line in hop_lines(findings.run.task.hop_names).items()
            ],
        },
    }


def _does(mechanism: object | None) -> str:
    return "" if mechanism is None else named(str(mechanism))
