"""What a page may do: run the scripts that it was written with, and nothing else.

Scripts are allowed by the digest of their text, so that markup which slipped into a page does
nothing. https://www.w3.org/TR/CSP3/
"""

import base64
import hashlib
from collections.abc import Iterable

from markupsafe import Markup


def script_tag(code: str) -> Markup:
    """A script as an element."""
    return Markup(f"<script>\n{code}</script>")


def policy(scripts: Iterable[str], served: bool = False) -> str:
    """What a page with these scripts may do, as a content security policy.

    Args:
        scripts: as they are given to `script_tag`.
        served: whether the page may ask the server that it came from.
    """
    allowed = " ".join(dict.fromkeys(f"'sha256-{_digest(f'{chr(10)}{one}')}'" for one in scripts))
    return (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src {allowed};"
        f" img-src data: blob:; connect-src {_SERVER if served else _NOBODY};"
        " base-uri 'none'; form-action 'none'"
    )


_SERVER, _NOBODY = "'self'", "'none'"


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
