"""Load something, or run a script, from a page."""

import base64
import re
from hashlib import sha256

from tests.attacks import Attn, Patch, Path
from tests.printing.test_live_pages import html_pages

BOUND = "none"


def attack(attn: Attn, folder: Path, patch: Patch) -> None:
    pages = html_pages(attn, folder)
    assert len(pages) == 8
    for name, page in pages.items():
        policies = re.findall(r'<meta http-equiv="Content-Security-Policy" content="(.*?)"/>', page)
        code = "".join(re.findall(r"<script>(.*?)</script>", page, re.DOTALL))
        digest = base64.b64encode(sha256(code.encode()).digest()).decode()
        assert len(policies) == 1
        assert policies[0].startswith("default-src 'none'; "), name
        assert f"script-src 'sha256-{digest}'" in policies[0] or not code, name
        assert not re.search(r"(src|href)=\"(?!#|\w+\.html)", page), name
        assert not re.search(r"https?:|\bfetch\(|XMLHttpRequest|import\(|\.src\b", code), name
