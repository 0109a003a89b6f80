/* Find in the text: / or its button opens a box; Enter and Shift Enter go to the next and the previous match, Esc closes it. It
   also finds what a text scrolls out of view, and what is folded. Without the highlight API the current match is selected.
   Loaded by find_open.js. */
(() => {
  "use strict";
  const { foretell } = window;
  const MOST = 2000;

  const texts = () => [...document.querySelectorAll(".task__material :is(.block__text, .block__list)")];
  const fold = (text) => text.replace(/./gu, (one) => (one.toLowerCase().length === one.length ? one.toLowerCase() : one));

  /* The matches in one text, as ranges; a match may go through several elements. */
  function matches(text, words) {
    const nodes = [];
    let whole = "";
    const walker = document.createTreeWalker(text, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      nodes.push({ node: walker.currentNode, begin: whole.length });
      whole += walker.currentNode.data;
    }
    const at = (position, last) => {
      const one = nodes.findLast(({ begin }) => (last ? begin < position : begin <= position));
      return [one.node, position - one.begin];
    };
    const found = [];
    const [where, what] = [fold(whole), fold(words)];
    for (let begin = where.indexOf(what); begin >= 0 && found.length < MOST; begin = where.indexOf(what, begin + what.length)) {
      const range = document.createRange();
      range.setStart(...at(begin, false));
      range.setEnd(...at(begin + what.length, true));
      found.push(range);
    }
    return found;
  }

  function paint(found, current) {
    if (window.CSS?.highlights) {
      CSS.highlights.delete("find");
      CSS.highlights.delete("find-current");
      if (found.length) CSS.highlights.set("find", new Highlight(...found));
      if (found[current]) {
        const one = new Highlight(found[current]);
        one.priority = 1;
        CSS.highlights.set("find-current", one);
      }
    } else if (found[current]) {
      getSelection().setBaseAndExtent(found[current].startContainer, found[current].startOffset, found[current].endContainer, found[current].endOffset);
    }
  }

  /* Open what is folded, scroll each text that scrolls, then the page. */
  function reveal(range, box) {
    const inside = range.startContainer.parentElement;
    for (let folded = inside.closest("details"); folded; folded = folded.parentElement.closest("details")) folded.open = true;
    for (let holder = inside; holder && holder !== document.body; holder = holder.parentElement) {
      if (!/auto|scroll/.test(getComputedStyle(holder).overflowY) || holder.scrollHeight <= holder.clientHeight) continue;
      const [match, frame] = [range.getBoundingClientRect(), holder.getBoundingClientRect()];
      if (match.top < frame.top + 24 || match.bottom > frame.bottom) holder.scrollTop += match.top - frame.top - frame.height / 3;
    }
    const match = range.getBoundingClientRect();
    const top = box.getBoundingClientRect().bottom;
    const panel = document.querySelector("[data-panel]")?.getBoundingClientRect();
    const bottom = panel && panel.top > top && panel.left <= match.left ? panel.top : innerHeight;
    if (match.top < top || match.bottom > bottom) scrollBy({ top: match.top - top - (bottom - top) / 3, behavior: "instant" });
  }

  foretell.on("[data-find]", (box) => {
    const input = box.querySelector("input");
    const count = box.querySelector("[data-find-count]");
    const button = document.querySelector("[data-find-open]");
    let [found, current, from] = [[], 0, null];

    const go = (to) => {
      current = found.length ? (to + found.length) % found.length : 0;
      const say = (text, values) => text.replace(/\{(\w+)\}/g, (_, name) => values[name]);
      count.textContent = !input.value ? "" : found.length ? say(box.dataset.found, { number: current + 1, total: found.length }) : box.dataset.none;
      paint(found, current);
      if (found.length) reveal(found[current], box);
    };
    const search = () => {
      const words = input.value;
      found = words ? texts().flatMap((text) => matches(text, words)).slice(0, MOST) : [];
      go(0);
    };
    const close = () => {
      box.hidden = true;
      paint([], 0);
      from?.focus({ preventScroll: true });
    };

    foretell.find = () => {
      if (!button || button.hidden) return;
      if (box.hidden) from = document.activeElement === document.body ? button : document.activeElement;
      box.hidden = false;
      input.focus();
      input.select();
      search();
    };
    button?.addEventListener("click", foretell.find);
    input.addEventListener("input", search);
    box.addEventListener("keydown", (event) => {
      if (event.key === "Escape") close();
      else if (event.key === "Enter" && event.target === input) go(current + (event.shiftKey ? -1 : 1));
      else return;
      event.preventDefault();
      event.stopPropagation();
    });
    for (const step of box.querySelectorAll("[data-find-step]")) {
      step.addEventListener("click", () => go(current + Number(step.dataset.findStep)));
    }
    box.querySelector("[data-find-close]").addEventListener("click", close);
  });

  document.addEventListener("htmx:afterSwap", () => paint([], 0));
  foretell.attach(document);
})();
