"""Forty spellings and more of ten people's names and ids in five scripts."""

from __future__ import annotations

import unicodedata

#: Each person's identifier, and texts in which it is written in some way.
SPELLINGS = {
    "owl_fan_77": [
        "@owl_fan_77", "OWL_FAN_77", "owl_fan_77_", "owl_fan_77.Thanks", "owl_fan_77-at-gmail", "xowl_fan_77x",
        "owl fan 77", "ｏｗｌ＿ｆａｎ＿７７", "Owl-Fan-77!", "a\nowl_fan_77\tb",
        "\u043ewl_fan_77", "owl\u200b_fan\u00ad_77",
    ],
    "john smith": ["john smith jr", "John  Smith", "JOHNSMITH", "Smith? I mean john-smith.", "john.smith@x", "Smith, John"],
    "O.Brien-7": ["O.Brien-7", "o'brien7", "O’BRIEN 7", "(OBrien-7)"],
    "José Núñez": [
        "josé núñez", unicodedata.normalize("NFD", "José Núñez"), "JOSE NUNEZ", "jose_nunez", "J\u00f8se Nunez", "Ｊｏｓé Núñez",
    ],
    "5f1c2b3a4d5e6f7a8b9c0d1e": [
        "5F1C2B3A4D5E6F7A8B9C0D1E", "x5f1c2b3a4d5e6f7a8b9c0d1ey", "id:5f1c2b3a-4d5e6f7a8b9c0d1e",
    ],
    "王小明": ["我叫王小明，你好", "王 小明", "(王小明)"],
    "Ирина Волкова": ["ИРИНА ВОЛКОВА", "ирина-волкова", "это Ирина Волкова."],
    "محمد علي": ["أنا محمد علي", "محمد_علي", "محمدعلي", "محمـــد علي", "مُحَمَّد عَلِيّ"],
    "Σωκράτης": ["ΣΩΚΡΆΤΗΣ", "σωκρατης7"],
    "wanda@home.example": ["WANDA@HOME.EXAMPLE", "wanda＠home.example"],
}  # fmt: skip
