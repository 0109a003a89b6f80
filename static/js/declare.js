/* The editor of HIT types: numbers its lines, previews the file a moment after it was changed, and marks the lines with problems. */
(() => {
  "use strict";
  const WAIT = 700;
  const form = document.querySelector("[data-declare]");
  if (!form) return;
  const text = form.querySelector("textarea");
  const lines = form.querySelector("[data-lines]");
  const frame = form.querySelector("[data-shown]");
  const parts = [...form.querySelectorAll("[data-part]")];
  let part = parts[0];
  let bad = new Set();
  let timer = 0;

  const number = () => {
    const count = text.value.split("\n").length;
    const shown = document.createDocumentFragment();
    for (let at = 1; at <= count; at += 1) {
      const one = document.createElement(bad.has(at) ? "span" : "i");
      one.textContent = at;
      if (bad.has(at)) one.className = "declare__bad";
      else one.className = "declare__line";
      shown.append(one, "\n");
    }
    lines.replaceChildren(shown);
    lines.scrollTop = text.scrollTop;
  };

  const go = (line) => {
    const before = text.value.split("\n").slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
    const end = text.value.indexOf("\n", before);
    text.focus();
    text.setSelectionRange(before, end < 0 ? text.value.length : end);
    text.scrollTop = Math.max(0, (line - 6) * (text.scrollHeight / text.value.split("\n").length));
  };

  const lead = (inside) => {
    for (const one of inside.querySelectorAll("[data-line]")) {
      const line = Number(one.dataset.line);
      if (!line) continue;
      bad.add(line);
      one.addEventListener("click", () => go(line));
    }
  };

  const show = () => {
    clearTimeout(timer);
    if (!text.value.trim()) return;
    for (const one of parts) one.setAttribute("aria-pressed", String(one === part));
    // Not by a click on the button, which would take the focus from the file.
    form.requestSubmit(part);
  };

  form.addEventListener("submit", (event) => {
    if (event.submitter && event.submitter.matches("[data-part]")) part = event.submitter;
  });
  text.addEventListener("input", () => {
    number();
    clearTimeout(timer);
    timer = setTimeout(show, WAIT);
  });
  text.addEventListener("scroll", () => {
    lines.scrollTop = text.scrollTop;
  });
  frame.addEventListener("load", () => {
    bad = new Set();
    lead(frame.contentDocument);
    number();
  });
  lead(document);
  number();
  show();
})();
