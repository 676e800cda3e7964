"""Documents: READMEs and `docs/` of a project → the pages of one language, with links from page to page."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from npu_overlays.errors import ConfigError, Problem
from npu_overlays.site.languages import Language, languages

# What is written for the site itself, and what its generator adds.
RESERVED = ("index", "start", "changes", "drift", "search", "genindex")
FILES = "files"  # in the folder of a language: what documents link to beside each other

_LINK = re.compile(r"(?<=\]\()(?![a-z]+:|#)([^)\s#]+)((?:#[^)\s]*)?)(?=\))")
_FOLDER_LINK = re.compile(r"\[([^\]]*)\]\(([^)\s#:]+)\)")
_FENCE = re.compile(r"\s*(`{3,}|~{3,})")
# The site has its own way from one language to the other.
_SWITCH = re.compile(r"(?:English \| )?\[(?:简体中文|中文|English)\]\([^)]+\)(?: \| 简体中文)?")
_FIGURE = re.compile(r'<p align="center"><img src="([^"]+)" alt="([^"]*)"(?: width="\d+")?></p>')


@dataclass(frozen=True, kw_only=True)
class Documents:
    """The documents of a project.

    Args:
        root: its folder.
        names: the page that a document becomes, by its path below `root` in the first language.
    """

    root: Path
    names: Mapping[str, str]

    def file(self, path: str, language: Language) -> Path | None:
        """Return a document in a language, None where it is not translated."""
        file = self.root / (path.removesuffix(".md") + language.suffix)
        return file if file.is_file() else None


@dataclass(frozen=True, kw_only=True)
class Page:
    """A document as the generator reads it.

    Args:
        name: of the page.
        text: in Markdown.
        source: the document.
        files: what it links to beside other documents, by the path that it has below the pages.
    """

    name: str
    text: str
    source: Path
    files: Mapping[str, Path] = field(default_factory=dict)


def find_documents(root: Path) -> Documents:
    """Return the documents of a project; raises `ConfigError` where there are none, or a name is the site's."""
    names = {"README.md": "overview"}
    # What a tool keeps for itself begins with a dot, and may have one, too.
    names |= {f"{file.parent.name}/README.md": file.parent.name for file in sorted(root.glob("[!.]*/README.md"))}
    names |= {f"docs/{file.name}": file.stem for file in sorted((root / "docs").glob("*.md"))}
    suffixes = tuple(language.suffix for language in languages() if language.folder)
    found = {path: name for path, name in names.items() if (root / path).is_file() and not path.endswith(suffixes)}
    if "README.md" not in found:
        fix = "name the folder of a project with --documents"
        raise ConfigError(Problem(where=str(root), what="has no README.md", fix=fix))
    taken = [path for path, name in found.items() if name in RESERVED or list(found.values()).count(name) > 1]
    if taken:
        fix = "call the document something else"
        raise ConfigError(
            Problem(where=str(root / path), what="the site has another page of that name", fix=fix) for path in taken
        )
    return Documents(root=root, names=found)


def pages(documents: Documents, language: Language) -> Iterator[Page]:
    """Yield each document in a language, or in the first one with a note that says so."""
    for path, name in documents.names.items():
        source = documents.file(path, language) or documents.root / path
        reading = _Reading(documents=documents, folder=source.parent)
        lines = [reading.line(line) for line in source.read_text(encoding="utf-8").splitlines()]
        if not documents.file(path, language):
            lines[1:1] = ["", f"> {language.say('untranslated')}"]
        yield Page(name=name, text="\n".join(lines) + "\n", source=source, files=reading.files)


@dataclass(kw_only=True)
class _Reading:
    """A document while it is read, line by line; each stays one line, so that messages name the right ones.

    Args:
        documents: what it may link to.
        folder: where it lies.
        fence: what ends the block of code that the line stands in; empty outside of any.
        files: which other files it links to.
    """

    documents: Documents
    folder: Path
    fence: str = ""
    files: dict[str, Path] = field(default_factory=dict)

    def line(self, line: str) -> str:
        if fence := _FENCE.match(line):
            self.fence = "" if self.fence and fence[1].startswith(self.fence) else self.fence or fence[1]
            return line
        if self.fence:
            return line
        if _SWITCH.fullmatch(line):
            return ""
        line = _FIGURE.sub(lambda match: f"![{match[2]}]({match[1]})", line)
        line = _FOLDER_LINK.sub(lambda match: match[1] if (self.folder / match[2]).is_dir() else match[0], line)
        return _LINK.sub(lambda match: self._target(match[1]) + match[2], line)

    def _target(self, target: str) -> str:
        """Return where a link to a file leads on the site; one that leads nowhere stays as it is, for the generator."""
        path = os.path.relpath(self.folder / target, self.documents.root).replace(os.sep, "/")
        if name := self.documents.names.get(_first(path)):
            return f"{name}.md"
        file = self.documents.root / path
        if not file.is_file():
            return target
        # A further document would be taken for a page.
        place = f"{FILES}/{path}" + (".txt" if file.suffix == ".md" else "")
        self.files[place] = file
        return place


def _first(path: str) -> str:
    """Return the path that a document has in the first language."""
    found = next((one.suffix for one in languages() if one.folder and path.endswith(one.suffix)), ".md")
    return path.removesuffix(found) + ".md" if path.endswith(found) else path


def group_pages(names: Sequence[str], language: Language) -> dict[str, list[str]]:
    """Return the pages by their group in the list of all; what no group names is in the last one."""
    groups = {title: [name for name in wanted if name in names] for title, wanted in language.texts["groups"].items()}
    known = {name for group in groups.values() for name in group}
    groups[next(reversed(groups))] += sorted(set(names) - known)
    return {title: group for title, group in groups.items() if group}
