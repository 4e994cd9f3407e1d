"""Do the links of the pages lead anywhere?

    python docs/links.py              links inside the project: files, folders and headings
    python docs/links.py --external   also asks every address on the web once; `make links`
"""

import argparse
import re
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import unquote

ROOT = Path(__file__).resolve().parents[1]
_FENCED = re.compile(r"^(```|~~~|:::).*?^\1", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`[^`\n]*`")
_LINK = re.compile(r"\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)|<(https?://[^>\s]+)>")
_HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*$", re.MULTILINE)
_NAMED = re.compile(r"^\(([\w-]+)\)=$|(?:id|name)=\"([\w-]+)\"", re.MULTILINE)
_OURS = re.compile(r"https?://(127\.0\.0\.1|localhost|[\w.-]*example\.(com|org))")


def pages() -> list[Path]:
    """Every Markdown page of the project that is under version control."""
    git = ["git", "-C", str(ROOT), "ls-files", "--cached", "--others", "--exclude-standard", "*.md"]
    listed = subprocess.run(git, capture_output=True, text=True, check=True).stdout.split("\n")  # noqa: S603
    return [ROOT / name for name in listed if name]


def links(page: Path) -> Iterator[str]:
    """The targets of a page's links, code left out."""
    text = _CODE.sub("", _FENCED.sub("", page.read_text(encoding="utf-8")))
    for found in _LINK.finditer(text):
        yield found[1] or found[2]


def anchors(page: Path) -> set[str]:
    """What a link into the page may name: its headings as GitHub and MyST write them, and its own marks."""
    text = _FENCED.sub("", page.read_text(encoding="utf-8"))
    slugs: dict[str, int] = {}
    result = {one or other for one, other in _NAMED.findall(text)}
    for title in _HEADING.findall(text):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title).replace("`", "")
        slug = re.sub(r"[^\w\- ]", "", plain.strip().lower()).replace(" ", "-")
        again = slugs.get(slug, 0)
        slugs[slug] = again + 1
        result.add(f"{slug}-{again}" if again else slug)
    return result


def broken_inside() -> list[str]:
    """`page: target: why` of each link that leads nowhere in the project."""
    found = []
    for page in pages():
        for target in links(page):
            if re.match(r"[a-z]+:", target):
                continue
            path, _, anchor = unquote(target).partition("#")
            to = (page.parent / path).resolve() if path else page
            if not to.is_relative_to(ROOT) or not to.exists():
                found.append(f"{page.relative_to(ROOT)}: {target}: there is no such file")
            elif anchor and to.suffix == ".md" and anchor not in anchors(to):
                found.append(f"{page.relative_to(ROOT)}: {target}: there is no such heading")
    return found


def broken_outside() -> list[str]:
    """The same of addresses on the web, each asked once."""
    pages_of: dict[str, list[str]] = {}
    for page in pages():
        for target in links(page):
            if target.startswith(("http://", "https://")) and not _OURS.match(target):
                pages_of.setdefault(target.partition("#")[0], []).append(str(page.relative_to(ROOT)))
    with ThreadPoolExecutor(8) as pool:
        answers = zip(pages_of, pool.map(_problem, pages_of), strict=True)
        return [f"{pages_of[address][0]}: {address}: {why}" for address, why in answers if why]


def _problem(address: str) -> str:
    asked = urllib.request.Request(address, headers={"User-Agent": "Mozilla/5.0 (link check)"})  # noqa: S310
    try:
        with urllib.request.urlopen(asked, timeout=30):  # noqa: S310
            return ""
    except urllib.error.HTTPError as error:      # there, and only for people or members
        return "" if error.code in (401, 403, 405, 429) else f"answers {error.code}"
    except (OSError, ValueError) as error:
        return str(error)


def main() -> int:
    """Print what is broken; 1 if anything is."""
    parser = argparse.ArgumentParser(description="Do the links of the pages lead anywhere?")
    parser.add_argument("--external", action="store_true", help="ask addresses on the web too")
    found = broken_inside() + (broken_outside() if parser.parse_args().external else [])
    sys.stdout.write("".join(f"{line}\n" for line in found))
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main())
