/* Keeps in view what the current question is about. Material that is longer than the window is pinned at its bottom; a text
   that is cut can be scrolled with the keyboard and shown whole; the page follows the current question. */
(() => {
  "use strict";
  const { foretell } = window;
  const root = document.documentElement;
  const GAP = 12;

  const sticky = (element) => getComputedStyle(element).position === "sticky";
  const docked = (panel) => sticky(panel) && getComputedStyle(panel).bottom !== "auto";

  /* Whether the context stays above the questions, and not in a column beside them. */
  const isAbove = (context) =>
    sticky(context) && !(context.closest(".reading--beside") && getComputedStyle(context.parentElement).display === "grid");

  /* A question of an exam has a section of its own; a task is one. */
  const sectionOf = (element) => element.closest(".quiz") ?? root;

  /* The part of the window between what stays at its top and what stays at its bottom, while a section is read. */
  function room(section) {
    let top = document.querySelector(".top")?.getBoundingClientRect().bottom ?? 0;
    const context = section.querySelector("[data-context]");
    if (context && isAbove(context)) top += context.offsetHeight;
    const panel = document.querySelector("[data-panel]");
    const bottom = panel && docked(panel) ? panel.getBoundingClientRect().top : innerHeight;
    return { top, bottom: bottom - askedBelow(section) };
  }

  /* The height of an exam question's options, where they stay below its material. */
  function askedBelow(section) {
    const asked = section === root ? null : section.querySelector(".quiz__asked");
    return asked && docked(asked) ? asked.offsetHeight : 0;
  }

  /* Scroll only the list, not the page: the panel is in view already. */
  function within(list, asked) {
    const [outer, inner] = [list.getBoundingClientRect(), asked.getBoundingClientRect()];
    if (inner.bottom > outer.bottom) list.scrollTop += Math.min(inner.bottom - outer.bottom, inner.top - outer.top);
    else if (inner.top < outer.top) list.scrollTop -= outer.top - inner.top;
  }

  /* Scroll as little as needed for the question, and the text beside it, to be in view; for a step that follows `from` in
     the same question, only for the step itself. */
  foretell.show = (asked, from) => {
    const row = asked.closest(".paired__row, .quiz");
    if (!row) {
      const list = asked.closest(".panel__fields");
      if (list) within(list, asked);
      return;
    }
    const section = sectionOf(asked);
    const { top, bottom } = room(section);
    const box = row.getBoundingClientRect();
    const above = top + GAP;
    if (!row.contains(from ?? null) && (box.top < above || box.bottom > bottom)) {
      const far = box.height > bottom - above || box.top < above;
      scrollBy({ top: far ? box.top - above : box.bottom - bottom + GAP, behavior: "instant" });
    }
    if (foretell.seen(asked)) return;
    const own = asked.getBoundingClientRect();
    const end = askedBelow(section) ? bottom + askedBelow(section) : bottom;
    const high = own.height > end - above || own.top < above;
    scrollBy({ top: high ? own.top - above : own.bottom - end + GAP, behavior: "instant" });
  };

  /* Whether an element is in the window, and not under what stays at its top or bottom. */
  foretell.seen = (element) => {
    const box = (element.matches("input") ? (element.closest(".option") ?? element) : element).getBoundingClientRect();
    const top = document.querySelector(".top")?.getBoundingClientRect().bottom ?? 0;
    const panel = document.querySelector("[data-panel]");
    const bar = panel && docked(panel) && !panel.contains(element);
    return box.top >= top - 1 && box.bottom <= (bar ? panel.getBoundingClientRect().top : innerHeight) + 1;
  };

  /* Texts that are cut get a place in the tab order, to be scrolled with the arrow keys. */
  function cut(holder) {
    let any = false;
    for (const block of holder.querySelectorAll(".block, .blocks")) {
      block.style.overflow = "";
      const clipped = block.scrollHeight > block.clientHeight + 2 && getComputedStyle(block).overflowY === "auto";
      if (!clipped) block.style.overflow = "visible"; // a fraction of a pixel is not worth a scrollbar
      any ||= clipped;
      if (clipped) {
        block.tabIndex = 0;
        block.setAttribute("role", "region");
        block.setAttribute("aria-labelledby", block.querySelector(".block__label").id);
      } else {
        for (const name of ["tabindex", "role", "aria-labelledby"]) block.removeAttribute(name);
      }
    }
    const button = holder.querySelector("[data-expand]");
    if (button) button.hidden = !any && !holder.hasAttribute("data-expanded");
  }

  foretell.on("[data-expand]", (button) => {
    button.addEventListener("click", () => {
      const holder = button.parentElement;
      const open = holder.toggleAttribute("data-expanded");
      button.setAttribute("aria-expanded", String(open));
      button.textContent = open ? button.dataset.less : button.dataset.more;
      cut(holder);
    });
  });

  /* Call `measure` when the size of the window, of the bar at the bottom or of the element itself changes. */
  function watch(element, measure) {
    const observer = new ResizeObserver(() => {
      if (element.isConnected) measure();
      else observer.disconnect();
    });
    observer.observe(element);
    observer.observe(root);
    const panel = document.querySelector("[data-panel]");
    const asked = sectionOf(element).querySelector(".quiz__asked");
    for (const below of [panel, asked]) if (below) observer.observe(below);
    document.fonts?.ready.then(measure);
  }

  foretell.on("[data-context]", (context) => {
    watch(context, () => {
      sectionOf(context).style.setProperty("--context", isAbove(context) ? `${context.offsetHeight}px` : "0px");
      cut(context);
    });
  });

  foretell.on("[data-pin]", (pinned) => {
    watch(pinned, () => {
      const section = sectionOf(pinned);
      const { top, bottom } = room(section);
      pinned.removeAttribute("data-pinned");
      section.style.setProperty("--asked", `${askedBelow(section)}px`);
      const begin = section === root ? -scrollY : section.getBoundingClientRect().top - top;
      const end = pinned.getBoundingClientRect().bottom - begin;
      pinned.toggleAttribute("data-pinned", end > (section === root ? bottom : bottom - GAP));
      cut(pinned);
    });
  });

  /* To the text that the current question is about, and back to the question. */
  foretell.toText = (form) => {
    const asked = form.querySelector("[data-current]");
    const scope = asked?.closest("[data-scope]") ?? form;
    const text = scope.querySelector("[data-context] [tabindex], [data-pin] [tabindex]") ?? aboutOf(form, asked);
    if (!asked || !text) return;
    if (text.contains(document.activeElement)) {
      asked.querySelector(":checked, input, textarea")?.focus({ preventScroll: true });
      foretell.show(asked);
    } else {
      if (!text.hasAttribute("tabindex")) text.tabIndex = -1;
      text.focus({ preventScroll: true });
      text.scrollIntoView({ block: "nearest" });
    }
  };

  function aboutOf(form, asked) {
    const names = asked?.dataset.about?.split(" ") ?? [];
    const scope = asked?.closest("[data-scope]") ?? form;
    return scope.querySelector(names.map((name) => `[data-block="${CSS.escape(name)}"]`).join(",") || ".block");
  }

  /* The question before or after the current one. */
  foretell.step = (form, by) => {
    const all = [...form.querySelectorAll("[data-asked]")].filter((asked) => !asked.hidden);
    const now = all.findIndex((asked) => asked.hasAttribute("data-current"));
    const to = all[Math.min(Math.max(now + by, 0), all.length - 1)];
    to?.querySelector(":checked, input, textarea")?.focus({ preventScroll: true });
    if (to) foretell.show(to);
  };

  document.addEventListener("htmx:afterSwap", () => {
    if (!document.querySelector("[data-context]")) root.style.setProperty("--context", "0px");
  });
})();
