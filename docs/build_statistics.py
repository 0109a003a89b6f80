"""Builds docs/statistics/ from the docstrings of the public statistics, and the section on intervals of docs/metrics.md.

It also writes the list of these pages in zensical.toml, and docs/llms.txt, which has their first sentences.

    python docs/build_statistics.py            writes them
    python docs/build_statistics.py --check    fails where one is not what would be written

Django is not needed: the statistics import none of it. `statistics_pages.py` says which modules are on which page.
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib
import inspect
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "docs" / "statistics"
sys.path[:0] = [str(ROOT), str(ROOT / "docs")]
from navigation import LLMS, llms  # noqa: E402
from statistics_pages import PACKAGES, SECTIONS, Page  # noqa: E402

METRICS = ROOT / "docs" / "metrics.md"
_INTERVALS = re.compile(
    r"(<!-- intervals: written by docs/build_statistics.py -->\n).*?(<!-- end of intervals -->)", re.DOTALL
)
CONFIGURATION = ROOT / "zensical.toml"
_LISTED = re.compile(
    r"( *# statistics: written by docs/build_statistics.py\n).*?( *# end of statistics)", re.DOTALL
)
_EXAMPLE = re.compile(r"(?:^>>> .*\n?(?:^(?!\s*$|>>> ).*\n?)*\n?)+", re.MULTILINE)


def build() -> dict[str, str]:
    """The text of each page by its file's name."""
    names = names_by_module()
    pages = [page for section in SECTIONS.values() for page in section]
    placed = [module for page in pages for module in page.modules]
    if wrong := sorted(set(names).symmetric_difference(placed)):
        raise SystemExit(
            f"docs/statistics_pages.py: {', '.join(wrong)} must be on one page, and have public names"
        )
    return {"index.md": index(names)} | {f"{page.name}.md": text_of_page(page, names) for page in pages}


def names_by_module() -> dict[str, list[str]]:
    """Public functions and classes by the module that defines them."""
    names: dict[str, list[str]] = {}
    for package in PACKAGES:
        module = importlib.import_module(package)
        for name in public_names(module):
            found = getattr(module, name)
            if inspect.isclass(found) or inspect.isfunction(found):
                names.setdefault(found.__module__, []).append(name)
    return names


def imported_from(module: str) -> str:
    """Where to import a module's public names from: the package that has them, or the module itself."""
    return next(
        package
        for package in PACKAGES
        if any(getattr(one, "__module__", "") == module for one in public_objects(package))
    )


def public_objects(package: str) -> list[Any]:
    module = importlib.import_module(package)
    return [getattr(module, name) for name in public_names(module)]


def index(names: dict[str, list[str]]) -> str:
    """The list of pages, with the names on each."""
    parts = [
        "# The statistics, function by function",
        "Built from the docstrings by `python docs/build_statistics.py`; every example is run by the tests. "
        "What the figures mean and which to call: [metrics.md](../metrics.md), [agreement.md](../agreement.md).",
    ]
    for section, pages in SECTIONS.items():
        rows = [
            f"| [{page.title}]({page.name}.md) | "
            + ", ".join(f"`{name}`" for module in page.modules for name in names[module])
            + " |"
            for page in pages
        ]
        parts += [f"## {section}", "\n".join(["| page | functions and classes |", "|---|---|", *rows])]
    return "\n\n".join(parts) + "\n"


def text_of_page(page: Page, names: dict[str, list[str]]) -> str:
    """One page: what each module is about, then its functions and classes."""
    parts = [f"# {page.title}"]
    for name in page.modules:
        module = importlib.import_module(name)
        source = imported_from(name)
        parts += [text_of(module), code(f"from {source} import {', '.join(names[name])}")]
        for public in names[name]:
            parts += entry(public, getattr(module, public))
    parts.append("[All statistics](index.md)")
    return "\n\n".join(part for part in parts if part) + "\n"


def public_names(module: Any) -> list[str]:
    """``__all__``, else what the module itself defines and does not hide."""
    own = [
        name
        for name, found in vars(module).items()
        if not name.startswith("_") and getattr(found, "__module__", "") == module.__name__
    ]
    return sorted(getattr(module, "__all__", own), key=str.lower)


def entry(name: str, found: Any) -> list[str]:
    """Heading, signature and docstring of one function or class, with a class's methods."""
    if inspect.isfunction(found):
        return [f"## {name}", code(signature(name, found)), text_of(found)]
    parts = [f"## {name}", code(class_signature(name, found)), text_of(found)]
    for method, value in vars(found).items():
        target = value.__func__ if isinstance(value, classmethod | staticmethod) else value
        if method.startswith("_") or not inspect.isfunction(target) or not target.__doc__:
            continue
        parts += [f"### {name}.{method}", code(signature(method, target)), text_of(target)]
    return parts


def class_signature(name: str, found: type) -> str:
    """A dataclass as its fields, another class as its constructor."""
    if not dataclasses.is_dataclass(found):
        return signature(name, found)
    lines = []
    for part in dataclasses.fields(found):
        if not part.name.startswith("_"):
            lines.append(f"    {part.name}: {part.type}{default_of(part)}")
    return f"class {name}:\n" + "\n".join(lines)


def default_of(part: dataclasses.Field[Any]) -> str:
    if part.default is not dataclasses.MISSING:
        return f" = {part.default!r}"
    return " = ..." if part.default_factory is not dataclasses.MISSING else ""


class Annotation(str):
    """An annotation that is written without quotes."""

    def __repr__(self) -> str:
        return str(self)


def signature(name: str, found: Any) -> str:
    """A signature, one parameter a line where it is long."""
    try:
        declared = inspect.signature(found)
    except (TypeError, ValueError):
        return name
    parameters = [
        one.replace(annotation=Annotation(one.annotation)) if isinstance(one.annotation, str) else one
        for one in declared.parameters.values()
    ]
    result = declared.return_annotation
    result = Annotation(result) if isinstance(result, str) else result
    short = f"{name}{declared.replace(parameters=parameters, return_annotation=result)}"
    if len(short) <= 100:
        return short
    inner = [str(one) for one in parameters]
    kinds = [one.kind for one in parameters]
    if inspect.Parameter.KEYWORD_ONLY in kinds:
        inner.insert(kinds.index(inspect.Parameter.KEYWORD_ONLY), "*")
    arrow = "" if result is inspect.Signature.empty else f" -> {result}"
    return f"{name}(\n" + "".join(f"    {one},\n" for one in inner) + f"){arrow}"


def text_of(found: Any) -> str:
    """A docstring as Markdown: double backquotes become single, examples and formulas become code."""
    text = inspect.getdoc(found) or ""
    if inspect.isclass(found) and dataclasses.is_dataclass(found) and text.startswith(f"{found.__name__}("):
        return ""
    text = re.sub(r"::\n\n((?:    .*\n|\n)+)", lambda match: ":\n\n" + match.group(1), text + "\n")
    text = re.sub(r":\w+:`([^`]+)`", r"`\1`", text).replace("``", "`")
    parts, last = [], 0
    for match in _EXAMPLE.finditer(text):
        parts += [prose(text[last : match.start()]), code(match.group(0).strip()) + "\n"]
        last = match.end()
    return "".join([*parts, prose(text[last:])]).strip()


def prose(text: str) -> str:
    """Text whose stars and angle brackets stay themselves, but for what is code."""
    pieces = re.split(r"(`[^`]*`|^    .*$)", text, flags=re.MULTILINE)
    plain = (piece if i % 2 else re.sub(r"([*<])", r"\\\1", piece) for i, piece in enumerate(pieces))
    return "".join(plain)


def code(text: str) -> str:
    return f"```python\n{text}\n```"


def intervals() -> str:
    """How intervals are made, with the numbers that the code uses."""
    from evaluation.agreement.bootstrap import DEFAULT_REPLICATES
    from evaluation.agreement.icc import LEAST_RESAMPLED
    from evaluation.core.interval import LEAST_CLUSTERS, LEAST_PAIRS, LEAST_VARIED, LEVEL
    from evaluation.metrics.association import LEAST_PER_CELL
    from evaluation.metrics.mixed import LAPLACE_INTERVAL

    level = f"{100 * LEVEL:g} %"
    return f"""\
`interval` names how each interval was made. All are {level} intervals.

| `interval` | of | how |
|---|---|---|
| {level} t interval, bootstrap standard error | most figures: means, shares, differences, correlations | whole instances are drawn with replacement {DEFAULT_REPLICATES:,} times; the standard deviation of the replicates is the standard error, and t has one degree of freedom less than there are instances. It's made on a scale without ends (the logit for shares, Fisher's for differences and correlations), so that it stays in the statistic's range. It is no percentile interval |
| {level} Wilson interval | a share of exactly 0 or 1 | over instances |
| {level} mid-P interval | percent agreement of two raters, or of three with two labels | the share of independent units on which all agree: the exact interval with half of the probability of what was found |
| {level} score interval, bootstrap standard error | alpha, Fleiss' kappa and AC1 of two labels on independent units | Wilson's interval with this standard error, between the least and the greatest value that the statistic can have; see [agreement.md](agreement.md) |
| {level} noncentral chi-square interval | Theil's U and the correlation ratio below one half | both are biased upwards near 0. From {LEAST_PER_CELL} cases for each combination of labels, or category, on; a permutation says how large U is by chance |
| {level} percentile interval | medians | the middle of the resampled medians |
| {level} Woodruff interval | medians for raters like these, and for these items | the t interval of the share of ratings below the median, linearised over instances and with the variance over raters, around a half; its ends are converted to labels |
| {level} t interval, sandwich variance | prediction-powered estimates | variance over instances; for *these items* times the share that nobody labelled, and no width where people labelled every item |
| {level} adjusted t interval, sandwich variance | a simulator's rates corrected by its errors | as Lang and Reiczigel (2014): rows are added to the labelled ones and the centre is shifted, so that it covers with few labels too |
| {level} t interval of the logarithm of the ratio of errors | NSG | the ratio of the error rates with and without the explanation, linearised over instances; both arms of an instance are one cluster |
| {level} normal approximation to the posterior | Tables 14 and 15 of P3 by variational Bayes | |
| {LAPLACE_INTERVAL} | the same by Laplace's approximation | |
| {level} jackknife t interval, or score interval | averages of kappa over pairs of raters, Conger's kappa | the score interval with two labels on independent units; see [agreement.md](agreement.md) |
| {level} F interval | intraclass correlations ICC(3,.) of independent units | for normally distributed numbers. Of fewer than {LEAST_RESAMPLED} units it stands in the place of the bootstrap's, which covers too often there; of more, beside it |
| {level} generalized interval | ICC(2,.) | for normally distributed numbers and new raters; it stands beside the bootstrap's |
| {level} interval of the mixed model | intraclass correlations | quantiles of the posterior of the standard deviations of units, raters and residuals; beside it stands a jackknife over instances |
| {level} t interval, Obuchowski's variance | areas under the ROC curve | Obuchowski (1997): labels of one instance are one cluster; made on the scale of logits |
| none: ... | | the reason: fewer than {LEAST_CLUSTERS} instances; fewer than {LEAST_VARIED} with another label than the most frequent one (chance-corrected agreement); fewer than {LEAST_PAIRS} pairs of ratings with two labels (kappa); a winning rate, which has simultaneous bounds instead; a mean of similarities of exactly 0 or 1; replicates in which the figure isn't defined |
"""


def with_intervals(text: str) -> str:
    """The page on metrics with its section on intervals."""
    return _INTERVALS.sub(lambda found: found[1] + intervals() + found[2], text)


def with_pages(text: str) -> str:
    """zensical.toml with the pages of the statistics in its navigation."""
    pages = [
        ("All statistics", "index"),
        *((page.title, page.name) for section in SECTIONS.values() for page in section),
    ]
    lines = "".join(f'      {{ "{title}" = "statistics/{name}.md" }},\n' for title, name in pages)
    return _LISTED.sub(lambda found: found[1] + lines + found[2], text)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true")
    pages = {TARGET / name: text for name, text in build().items()}
    left_over = sorted(set(TARGET.glob("*.md")) - set(pages))
    pages[METRICS] = with_intervals(METRICS.read_text(encoding="utf-8"))
    pages[CONFIGURATION] = with_pages(CONFIGURATION.read_text(encoding="utf-8"))
    if parser.parse_args().check:
        late = [
            page
            for page, built in pages.items()
            if not page.exists() or page.read_text(encoding="utf-8") != built
        ]
        for page in [*late, *left_over]:
            print(
                f"{page.relative_to(ROOT)} is out of date: run python docs/build_statistics.py",
                file=sys.stderr,
            )
        return 1 if late or left_over else 0
    TARGET.mkdir(exist_ok=True)
    for page in left_over:
        page.unlink()
    for page, built in pages.items():
        page.write_text(built, encoding="utf-8")
    LLMS.write_text(llms(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
