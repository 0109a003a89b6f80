"""Forty spellings and more of ten people's names and ids in five scripts."""

from __future__ import annotations

import unicodedata

#: Each person's identifier, and texts in which it is written in some way.
SPELLINGS = {
    "owl_fan_77": [
        "@owl_fan_77", "OWL_FAN_77", "owl_fan_77_", "owl_fan_77.Thanks", "owl_fan_77-at-gmail", "xowl_fan_77x",
        "owl fan 77", "ｏｗｌ＿ｆａｎ＿７７", "Owl-Fan-77!", "a\nowl_fan_77\tb",
        "\u043ewl_fan_77", "owl\u200b_fan\u00ad_77",
        "owl%5Ffan%5F77", "%6f%77%6c%5F%66%61%6e%5F%37%37", "owl%255Ffan%255F77", "owl&#95;fan&#x5F;77", "owl&lowbar;fan&lowbar;77",
        "owl\\u005ffan\\u005f77", "owl\\x5ffan_77", "owl=5Ffan=5F77", "b3dsX2Zhbl83Nw==", "6f776c5f66616e5f3737",
    ],
    "john smith": ["john smith jr", "John  Smith", "JOHNSMITH", "Smith? I mean john-smith.", "john.smith@x", "Smith, John", "john%20smith", "John&nbsp;Smith", "am9obiBzbWl0aA"],
    "O.Brien-7": ["O.Brien-7", "o'brien7", "O’BRIEN 7", "(OBrien-7)"],
    "José Núñez": [
        "josé núñez", unicodedata.normalize("NFD", "José Núñez"), "JOSE NUNEZ", "jose_nunez", "J\u00f8se Nunez", "Ｊｏｓé Núñez",
        "Jos%C3%A9 N%C3%BA%C3%B1ez", "Jos%E9 N%FA%F1ez", "Jos&eacute; N&uacute;&ntilde;ez", "Jos\\u00e9 N\\u00fa\\u00f1ez", "Sm9zw6kgTsO6w7Fleg==",
    ],
    "5f1c2b3a4d5e6f7a8b9c0d1e": [
        "5F1C2B3A4D5E6F7A8B9C0D1E", "x5f1c2b3a4d5e6f7a8b9c0d1ey", "id:5f1c2b3a-4d5e6f7a8b9c0d1e",
    ],
    "王小明": ["我叫王小明，你好", "王 小明", "(王小明)", "%E7%8E%8B%E5%B0%8F%E6%98%8E", "&#29579;&#23567;&#26126;", "\\u738b\\u5c0f\\u660e", "546L5bCP5piO"],
    "Ирина Волкова": ["ИРИНА ВОЛКОВА", "ирина-волкова", "это Ирина Волкова."],
    "محمد علي": ["أنا محمد علي", "محمد_علي", "محمدعلي", "محمـــد علي", "مُحَمَّد عَلِيّ"],
    "Σωκράτης": ["ΣΩΚΡΆΤΗΣ", "σωκρατης7"],
    "wanda@home.example": ["WANDA@HOME.EXAMPLE", "wanda＠home.example", "wanda%40home.example", "wanda&#64;home&period;example"],
}  # fmt: skip
