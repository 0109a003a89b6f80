/* Passages of a text are marked with the mouse, by touch (the first and the last word) or with the keyboard. The box below has the
   answer, a line for each passage; people can write there too. Offsets count code points, as on the server. */
(() => {
  "use strict";
  const { foretell } = window;
  const LINE = /^\s*([^/@:"]+?)\s*(?:\/\s*([^/@:"]+?)\s*)?(?:@\s*(\d+)\s*-\s*(\d+)\s*)?(?::\s*(".*"|\S.*))?\s*$/;

  /* Longer than browsers take to select a word. */
  const LONG_PRESS_MS = 750;

  const element = (name, properties = {}, ...inner) => {
    const made = Object.assign(document.createElement(name), properties);
    made.append(...inner);
    return made;
  };

  /* The words of a text as [start, end] in UTF-16 units. */
  function wordsOf(text) {
    if (window.Intl?.Segmenter) {
      const found = [...new Intl.Segmenter(undefined, { granularity: "word" }).segment(text)].filter((one) => one.isWordLike);
      if (found.length) return found.map((one) => [one.index, one.index + one.segment.length]);
    }
    return [...text.matchAll(/\S+/g)].map((one) => [one.index, one.index + one[0].length]);
  }

  class Marker {
    constructor(box, place) {
      this.box = box;
      this.place = place;
      this.asked = JSON.parse(box.dataset.passages);
      this.text = place.textContent;
      this.words = wordsOf(this.text);
      this.points = [0]; /* UTF-16 offset -> code points before it */
      for (const letter of this.text) {
        const before = this.points.at(-1);
        for (let unit = 1; unit < letter.length; unit += 1) this.points.push(before);
        this.points.push(before + 1);
      }
      this.now = null;
      this.taps = 0;
      const own = box.closest("[data-asked]");
      this.said = own.querySelector("[data-passages-words]").dataset;
      this.panel(own);
      this.listen();
      this.read();
    }

    /* -- offsets -- */

    unit(point) {
      return this.points.indexOf(point);
    }

    /* -- what is on the page -- */

    panel(own) {
      const { asked, said } = this;
      const root = own.querySelector("[data-passages-words]");
      this.live = element("p", { className: "passages__now", dir: "auto" });
      this.kinds = element("div", { className: "passages__kinds" });
      this.kinds.setAttribute("role", "group");
      this.kinds.setAttribute("aria-label", said.markAs);
      asked.categories.forEach(([value, label], place) => {
        const button = element("button", { type: "button", className: "button passages__kind" }, label);
        if (place < 9) button.append(element("kbd", { className: "key", ariaHidden: "true" }, String(place + 1)));
        button.addEventListener("click", () => this.mark(value));
        this.kinds.append(button);
      });
      root.append(this.live);
      if (asked.severities.length) {
        this.severity = element("select", { className: "passages__severity" });
        for (const [value, label] of asked.severities) this.severity.append(element("option", { value }, label));
        root.append(element("label", { className: "passages__label" }, `${said.severity} `, this.severity));
      }
      root.append(this.kinds);
      this.list = element("ol", { className: "passages__list" });
      this.list.setAttribute("aria-label", said.marked);
      root.append(this.list);
      if (asked.none) {
        this.none = element("input", { type: "checkbox", className: "option__mark" });
        const label = element("span", { className: "option__label" }, asked.none);
        label.dataset.text = asked.none;
        root.append(element("label", { className: "option", dir: "auto" }, this.none, label));
        this.none.addEventListener("change", () => this.write());
      }
      const hand = element("details", { className: "passages__edit" }, element("summary", {}, said.byHand));
      hand.append(own.querySelector("[data-passages-hand]"), this.box);
      own.append(hand);
      this.hand = hand;
      this.place.tabIndex = 0;
      this.place.setAttribute("role", "group");
      this.place.setAttribute("aria-label", said.mark);
      this.place.setAttribute("aria-description", `${said.nothing} ${said.keys}`);
      this.place.classList.add("passages__text");
    }

    label(list, value) {
      return list.find(([known]) => known === value)?.[1] ?? value;
    }

    draw() {
      const edges = new Set([0, this.text.length]);
      const all = this.marks.map((one, number) => ({ ...one, number: number + 1 }));
      for (const one of all) edges.add(one.start).add(one.end);
      if (this.now) edges.add(this.now[0]).add(this.now[1]);
      const cuts = [...edges].sort((a, b) => a - b);
      const parts = cuts.slice(1).map((end, place) => {
        const start = cuts[place];
        const over = all.filter((one) => one.start <= start && one.end >= end);
        const now = this.now && this.now[0] <= start && this.now[1] >= end;
        const piece = this.text.slice(start, end);
        if (!over.length && !now) return document.createTextNode(piece);
        const made = element(over.length ? "mark" : "span", { className: over.length ? "passage" : "" }, piece);
        made.classList.toggle("passage--now", Boolean(now));
        made.dataset.depth = Math.min(over.length, 3);
        const ends = over.filter((one) => one.end === end).map((one) => one.number);
        if (ends.length) made.dataset.ends = ends.join(" ");
        return made;
      });
      this.place.replaceChildren(...parts);
      this.live.textContent = this.now ? `“${this.text.slice(...this.now)}”` : this.said.nothing;
      this.live.toggleAttribute("data-empty", !this.now);
      for (const button of this.kinds.children) button.disabled = !this.now;
      this.list.replaceChildren(
        ...all.map((one) => {
          const kind = [this.label(this.asked.categories, one.category)];
          if (one.severity) kind.push(this.label(this.asked.severities, one.severity));
          const words = this.text.slice(one.start, one.end);
          const remove = element("button", { type: "button", className: "button-link" }, this.said.remove);
          remove.setAttribute("aria-label", `${this.said.remove}: ${words}`);
          remove.addEventListener("click", () => {
            this.marks.splice(one.number - 1, 1);
            this.write();
            foretell.say(`${this.said.removed}: ${words}`);
            this.place.focus({ preventScroll: true });
          });
          const text = element("span", { className: "passages__words" }, element("q", { dir: "auto" }, words), ` ${kind.join(" · ")}`);
          return element("li", {}, text, remove);
        }),
      );
      if (this.none) this.none.disabled = this.marks.length > 0;
    }

    /* -- the answer -- */

    read() {
      const value = this.box.value.trim();
      this.written = this.box.value;
      this.marks = [];
      this.rest = [];
      const none = value.toLowerCase() === "none";
      for (const line of none ? [] : value.split("\n").filter((one) => one.trim())) {
        const [, category, severity = "", from, to, quoted = ""] = LINE.exec(line) ?? [];
        let words = quoted;
        try {
          words = JSON.parse(quoted);
        } catch {
          words = quoted.replace(/^"|"$/g, "");
        }
        let [start, end] = [from ? this.unit(Number(from)) : this.text.indexOf(words), from ? this.unit(Number(to)) : 0];
        if (!from) end = start + words.length;
        if (!category || start < 0 || end <= start || (!from && this.text.indexOf(words, start + 1) >= 0)) this.rest.push(line);
        else this.marks.push({ start, end, category, severity });
      }
      if (this.none) this.none.checked = none;
      if (this.rest.length) this.hand.open = true;
      this.draw();
    }

    write() {
      this.marks.sort((a, b) => a.start - b.start || a.end - b.end);
      const lines = this.marks.map(({ start, end, category, severity }) => {
        const words = JSON.stringify(this.text.slice(start, end));
        return `${category}${severity ? `/${severity}` : ""} @${this.points[start]}-${this.points[end]}: ${words}`;
      });
      const all = [...lines, ...this.rest];
      if (this.none && all.length) this.none.checked = false;
      this.box.value = all.length ? all.join("\n") : this.none?.checked ? "none" : "";
      this.written = this.box.value;
      this.draw();
      this.box.dispatchEvent(new Event("input", { bubbles: true }));
    }

    mark(category) {
      if (!this.now) return;
      const [start, end] = this.now;
      const severity = this.severity?.value ?? "";
      const same = (one) => one.start === start && one.end === end && one.category === category && one.severity === severity;
      if (!this.marks.some(same)) this.marks.push({ start, end, category, severity });
      this.now = null;
      this.taps = 0;
      this.write();
      foretell.say(`${this.said.marked}: ${this.marks.length}`);
      this.place.focus({ preventScroll: true });
    }

    /* -- what is selected -- */

    select(now) {
      this.now = now;
      this.draw();
      if (now) foretell.say(this.text.slice(...now));
    }

    /* The UTF-16 offset of a point in the text. */
    offset(node, at) {
      const range = document.createRange();
      range.selectNodeContents(this.place);
      range.setEnd(node, at);
      return range.toString().length;
    }

    chosen() {
      const selection = getSelection();
      if (!selection.rangeCount || selection.isCollapsed) return null;
      const range = selection.getRangeAt(0);
      if (!this.place.contains(range.startContainer) || !this.place.contains(range.endContainer)) return null;
      let [start, end] = [this.offset(range.startContainer, range.startOffset), this.offset(range.endContainer, range.endOffset)];
      while (start < end && /\s/.test(this.text[start])) start += 1;
      while (end > start && /\s/.test(this.text[end - 1])) end -= 1;
      return start < end ? [start, end] : null;
    }

    wordAt(offset) {
      const found = this.words.findIndex(([start, end]) => start <= offset && offset <= end);
      return found >= 0 ? found : this.words.findIndex(([, end]) => end >= offset);
    }

    tap(event) {
      const at = document.caretPositionFromPoint?.(event.clientX, event.clientY);
      const range = at ? null : document.caretRangeFromPoint?.(event.clientX, event.clientY);
      const [node, offset] = at ? [at.offsetNode, at.offset] : [range?.startContainer, range?.startOffset];
      if (!node || !this.place.contains(node)) return;
      const word = this.words[this.wordAt(this.offset(node, offset))];
      if (!word) return;
      if (this.taps === 1 && this.now) {
        this.taps = 0;
        this.select([Math.min(this.now[0], word[0]), Math.max(this.now[1], word[1])]);
      } else {
        this.taps = 1;
        this.select(word);
      }
    }

    step(by, extend) {
      const last = this.words.length - 1;
      const next = this.head === undefined ? 0 : Math.max(0, Math.min(last, this.head + by));
      this.head = next;
      if (!extend || this.anchor === undefined) this.anchor = next;
      const [from, to] = [Math.min(this.anchor, next), Math.max(this.anchor, next)];
      this.taps = 0;
      this.select([this.words[from][0], this.words[to][1]]);
    }

    key(event) {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const ahead = getComputedStyle(this.place).direction === "rtl" ? -1 : 1;
      const moves = { ArrowRight: ahead, ArrowLeft: -ahead, Home: -this.words.length, End: this.words.length };
      if (event.key in moves && this.words.length) this.step(moves[event.key], event.shiftKey);
      else if (event.key === "Enter" && this.now) this.kinds.querySelector("button").focus();
      else if (event.key === "Escape" && this.now) this.select(null);
      else if (/^[1-9]$/.test(event.key) && this.now && this.asked.categories[event.key - 1])
        this.mark(this.asked.categories[event.key - 1][0]);
      else return;
      event.preventDefault();
    }

    listen() {
      let touch = false;
      /* A long press selects a word where the browser does that for touch. Elsewhere nothing comes of it, no click either, so it counts as a tap. */
      let held = 0;
      let pressed = false;
      const release = () => clearTimeout(held);
      this.place.addEventListener("pointerdown", (event) => {
        touch = event.pointerType === "touch";
        pressed = false;
        release();
        if (!touch) return;
        held = setTimeout(() => {
          if (this.chosen()) return;
          pressed = true;
          this.tap(event);
        }, LONG_PRESS_MS);
      });
      for (const name of ["pointerup", "pointercancel", "pointerleave"]) this.place.addEventListener(name, release);
      this.place.addEventListener("click", (event) => {
        if (pressed) return;
        const chosen = this.chosen();
        if (!chosen) this.tap(event);
        else if (!touch) {
          getSelection().removeAllRanges();
          this.taps = 0;
          this.select(chosen);
        }
      });
      /* A drag that ends beside the text has no click. */
      document.addEventListener("pointerup", ({ target }) => {
        if (!this.place.isConnected || touch || this.place.contains(target)) return;
        const chosen = this.chosen();
        if (chosen) this.select(chosen);
      });
      document.addEventListener("selectionchange", () => {
        if (!touch || !this.place.isConnected) return;
        const chosen = this.chosen(); /* handles are still being moved: the text isn't drawn again */
        if (!chosen) return;
        this.now = chosen;
        this.taps = 0;
        this.live.textContent = `“${this.text.slice(...chosen)}”`;
        for (const button of this.kinds.children) button.disabled = false;
      });
      this.place.addEventListener("keydown", (event) => this.key(event));
      this.box.addEventListener("input", () => {
        if (this.box.value !== this.written) this.read();
      });
      this.box.form?.addEventListener("foretell:state", () => {
        if (this.box.value !== this.written) this.read();
      });
    }
  }

  foretell.on("textarea[data-passages]", (box) => {
    const scope = box.closest("[data-scope]") ?? document;
    const { block } = JSON.parse(box.dataset.passages);
    const place = scope.querySelector(`[data-block="${CSS.escape(block)}"] .block__text`);
    if (place) new Marker(box, place);
  });
})();
