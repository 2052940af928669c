"""Changes the pages of docs/ where the site must differ from the tree."""
import posixpath
import re
from typing import Any


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Turns links to files outside of docs/, which are not part of the site, into text."""
    folder = posixpath.dirname(page.file.src_uri)

    def link_or_text(match: "re.Match[str]") -> str:
        target = posixpath.normpath(posixpath.join(folder, match.group(2)))
        is_outside = target.startswith("../") and not target.startswith("../docs/")
        return match.group(1) if is_outside else match.group(0)

    return re.sub(r"\[([^\]]*)\]\(((?:\.\./)+[^)]*)\)", link_or_text, markdown)
