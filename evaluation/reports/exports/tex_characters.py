r"""Text for LaTeX in ASCII only, so that no character can be missing from a font or input encoding."""

from __future__ import annotations

import re
import unicodedata

#: Special characters, punctuation and symbols.
_SYMBOLS = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': r"\textquotedbl{}", "`": r"\textasciigrave{}", "−": "$-$", "‐": "-", "‑": "-",
    "–": "--", "—": "---", "“": "``", "”": "''", "„": ",,", "‘": "`", "’": "'", "‚": ",", "«": "<<", "»": ">>",
    "…": r"\ldots{}", "·": r"\textperiodcentered{}", "•": r"\textbullet{}", "§": r"\S{}", "¶": r"\P{}",
    "©": r"\textcopyright{}", "®": r"\textregistered{}", "™": r"\texttrademark{}", "°": r"\textdegree{}",
    "€": r"\texteuro{}", "£": r"\pounds{}", "¢": r"\textcent{}", "¥": r"\textyen{}", "†": r"\dag{}", "‡": r"\ddag{}",
    "¡": r"!`", "¿": r"?`", "×": r"$\times$", "÷": r"$\div$", "±": r"$\pm$", "≥": r"$\geq$", "≤": r"$\leq$",
    "≠": r"$\neq$", "≈": r"$\approx$", "≡": r"$\equiv$", "∞": r"$\infty$", "∈": r"$\in$", "√": r"$\surd$",
    "∑": r"$\sum$", "∏": r"$\prod$", "→": r"$\rightarrow$", "←": r"$\leftarrow$", "↔": r"$\leftrightarrow$",
    "⇒": r"$\Rightarrow$", "¬": r"$\neg$", "∧": r"$\wedge$", "∨": r"$\vee$", "µ": r"$\mu$", "²": "$^2$", "³": "$^3$",
    "¹": "$^1$", "½": "1/2", "¼": "1/4", "¾": "3/4", "✓": r"$\surd$", "′": r"$'$", "″": r"$''$",
    "ß": r"\ss{}", "æ": r"\ae{}", "Æ": r"\AE{}", "ø": r"\o{}", "Ø": r"\O{}", "ł": r"\l{}", "Ł": r"\L{}",
    "œ": r"\oe{}", "Œ": r"\OE{}", "ı": r"\i{}", "đ": r"\dj{}", "Đ": r"\DJ{}", "ð": r"\dh{}", "Ð": r"\DH{}",
    "þ": r"\th{}", "Þ": r"\TH{}",
}  # fmt: skip
_GREEK = [
    "alpha",
    "beta",
    "gamma",
    "delta",
    "varepsilon",
    "zeta",
    "eta",
    "theta",
    "iota",
    "kappa",
    "lambda",
    "mu",
    "nu",
    "xi",
    "omicron",
    "pi",
    "rho",
    "varsigma",
    "sigma",
    "tau",
    "upsilon",
    "varphi",
    "chi",
    "psi",
    "omega",
]
#: Greek capitals that look like Latin ones have no command.
_CAPITALS = {
    "Γ": r"$\Gamma$", "Δ": r"$\Delta$", "Θ": r"$\Theta$", "Λ": r"$\Lambda$", "Ξ": r"$\Xi$", "Π": r"$\Pi$",
    "Σ": r"$\Sigma$", "Υ": r"$\Upsilon$", "Φ": r"$\Phi$", "Ψ": r"$\Psi$", "Ω": r"$\Omega$",
} | dict(zip("ΑΒΕΖΗΙΚΜΝΟΡΤΧ", "ABEZHIKMNOPTX", strict=True))  # fmt: skip
_ACCENTS = {
    "\u0300": "`", "\u0301": "'", "\u0302": "^", "\u0303": "~", "\u0304": "=", "\u0306": "u", "\u0307": ".",
    "\u0308": '"', "\u030a": "r", "\u030b": "H", "\u030c": "v", "\u0327": "c", "\u0328": "k", "\u0323": "d",
}  # fmt: skip
_KNOWN = _SYMBOLS | _CAPITALS
_KNOWN |= {chr(0x3B1 + n): f"$\\{name}$" if name != "omicron" else "o" for n, name in enumerate(_GREEK)}
_KNOWN["ϵ"] = r"$\epsilon$"
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f\u200b-\u200f\u2060\ufeff]")


def escape(text: str) -> str:
    r"""Escape text for LaTeX: special characters lose their meaning, and the result is ASCII. Accented letters become
    commands; Greek letters and symbols become mathematics. A character that LaTeX's own fonts don't have is written as
    its code point, after which a line may break.

    >>> print(escape(r"100% of \input{x} & $y_1$"))
    100\% of \textbackslash{}input\{x\} \& \$y\_1\$
    >>> print(escape("λ is café, 中"))
    $\lambda$ is caf\'{e}, [U+4E2D]\allowbreak{}
    """
    plain = " ".join(_CONTROL.sub("", text).split())
    written = "".join(_written(ch) for ch in unicodedata.normalize("NFC", plain))
    return written.replace("][U+", r"]\allowbreak{}[U+")  # a word of them is too long for a line


def _written(ch: str) -> str:
    if ch in _KNOWN:
        return _KNOWN[ch]
    if ch.isascii():
        return ch
    parts = unicodedata.normalize("NFD", ch)
    base, marks = parts[0], parts[1:]
    if marks and all(mark in _ACCENTS for mark in marks) and (base.isascii() or base in _KNOWN):
        written = {"i": r"\i", "j": r"\j"}.get(base, _KNOWN.get(base, base))
        for mark in marks:
            written = f"\\{_ACCENTS[mark]}{{{written}}}"
        return written
    compatible = unicodedata.normalize("NFKC", ch)
    if compatible.isascii():
        return "".join(map(_written, compatible))
    return f"[U+{ord(ch):04X}]\\allowbreak{{}}"
