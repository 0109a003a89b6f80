/* Steps: a field whose conditions are not met is hidden and not sent; the first unanswered field is marked. */
(() => {
  "use strict";
  const { foretell } = window;

  /* Whether the field is answered. Hidden and optional fields count as answered. */
  function answered(asked) {
    if (asked.hidden || !asked.hasAttribute("data-required")) return true;
    const text = asked.querySelector("textarea");
    return text ? text.value.trim() !== "" : asked.querySelector(":checked") !== null;
  }

  function holds(form, [name, values]) {
    const chosen = [...form.querySelectorAll(`[name="${CSS.escape(name)}"]:checked`)];
    return chosen.some((input) => !input.closest("[data-asked]")?.hidden && values.includes(input.value));
  }

  /* A number as somebody writes it, with or without its unit; NaN if it is none. The server reads it in the same way. */
  function number(text, unit) {
    let written = text.trim();
    if (unit && written.endsWith(unit)) written = written.slice(0, -unit.length).trim();
    if (!/^[-+−]?[0-9]{1,15}([.,][0-9]{1,9})?$/.test(written)) return NaN;
    return Number(written.replace("−", "-").replace(",", "."));
  }

  const SIZES = {
    at_least: (one, other) => one >= other,
    more_than: (one, other) => one > other,
    at_most: (one, other) => one <= other,
    less_than: (one, other) => one < other,
  };

  function compares(form, [name, sign, values, unit]) {
    const inputs = [...form.querySelectorAll(`[name="${CSS.escape(name)}"]`)];
    const given = inputs
      .filter((input) => !input.closest("[data-asked]")?.hidden && (input.checked || input.matches("textarea")))
      .map((input) => input.value)
      .filter((value) => value.trim());
    if (!given.length) return false;
    if (SIZES[sign]) return SIZES[sign](number(given[0], unit), Number(values[0]));
    return !given.some((value) => values.includes(value));
  }

  function unfold(form) {
    /* In order, so that hiding a step also hides the steps that depend on it. */
    for (const asked of form.querySelectorAll("[data-when]")) {
      const open =
        JSON.parse(asked.dataset.when).every((condition) => holds(form, condition)) &&
        JSON.parse(asked.dataset.compared ?? "[]").every((comparison) => compares(form, comparison));
      asked.hidden = !open;
      asked.disabled = !open;
    }
  }

  /* The current question: the one that the reader has moved to, else the first that is not answered, else the last one
     that was. Number keys answer it, and it is marked, with all its steps. */
  function current(form, all, open) {
    const here = form.foretellHere;
    const moved = here && form.contains(here) && !here.hidden ? here : null;
    const chosen = moved ?? open ?? form.foretellLast ?? all[0];
    const scope = chosen?.closest("[data-scope]") ?? form;
    for (const asked of all) {
      const same = chosen && asked.dataset.asked === chosen.dataset.asked && scope.contains(asked);
      asked.toggleAttribute("data-current", Boolean(same));
    }
  }

  function mark(form) {
    const all = [...form.querySelectorAll("[data-asked]")];
    const open = all.find((asked) => !answered(asked));
    for (const asked of all) asked.toggleAttribute("data-open-question", asked === open);
    current(form, all, open);
    form.foretellMissing = all.filter((asked) => !answered(asked));
    form.dispatchEvent(new CustomEvent("foretell:state", { bubbles: true }));
  }

  /* The page follows the answers only from the first open question to the next. Who answers out of order stays there, with
     the step that has unfolded. What has the focus stays in view: it is taken along, but not from between two arrow keys. */
  function follow(form, asked, first) {
    const open = form.querySelector("[data-open-question]");
    const scope = asked.closest("[data-scope]");
    const step = form.foretellMissing.find(
      (one) => one.dataset.asked === asked.dataset.asked && one.closest("[data-scope]") === scope,
    );
    const next = step ?? (first && open ? open : asked);
    if (step || !form.foretellArrow) foretell.show(next, asked);
    const check = () => focusKept(form, asked, next);
    check();
    requestAnimationFrame(() => requestAnimationFrame(check)); /* what is pinned has its new height by then */
  }

  function focusKept(form, asked, next) {
    const focused = document.activeElement;
    if (!form.contains(focused) || foretell.seen(focused)) return;
    if (form.foretellArrow || next === asked) foretell.show(focused.closest("[data-asked]") ?? asked, asked);
    else next.querySelector(":checked, input, textarea")?.focus({ preventScroll: true });
  }

  function refresh(form) {
    unfold(form);
    mark(form);
  }

  let pressed = false;
  document.addEventListener("pointerdown", () => (pressed = true), true);
  for (const end of ["pointerup", "pointercancel"]) document.addEventListener(end, () => (pressed = false), true);

  foretell.refresh = refresh;
  foretell.on("form[data-task]", (form) => {
    form.noValidate = true;
    let was = null; /* the open question before this answer: a browser's own `input` comes before its `change` */
    form.addEventListener("input", () => {
      was = form.querySelector("[data-open-question]");
      refresh(form);
    });
    form.addEventListener("change", ({ target }) => {
      const asked = target.closest("[data-asked]");
      const first = asked === (was ?? form.querySelector("[data-open-question]"));
      was = null;
      if (asked?.querySelector("[data-key]")) form.foretellLast = asked;
      form.foretellHere = target.type === "checkbox" ? asked : null; /* a list takes more; else the mark moves on */
      refresh(form);
      /* A text is changed when something else is pressed: what is pressed stays under the pointer until it is let go. */
      if (asked && target.type !== "checkbox" && !(pressed && target.matches("textarea"))) follow(form, asked, first);
    });
    /* Arrow keys choose on their way to another option. */
    form.addEventListener("keydown", ({ key }) => (form.foretellArrow = key.startsWith("Arrow")));
    form.addEventListener("pointerdown", () => (form.foretellArrow = false));
    /* Tab, arrows or a click move the mark; the focus that follows an answer doesn't. */
    form.addEventListener("focusin", ({ target }) => {
      if (form.foretellAnswering) return;
      form.foretellHere = target.closest("[data-asked]");
      mark(form);
    });
    refresh(form);
  });

  /* The height of the bar at the bottom, so that it covers neither the instructions nor a focused element. */
  foretell.on(".panel", (panel) => {
    const measure = () => {
      const docked = getComputedStyle(panel).position === "sticky" && getComputedStyle(panel).bottom !== "auto";
      document.documentElement.style.setProperty("--dock", docked ? `${panel.offsetHeight}px` : "0px");
    };
    new ResizeObserver(measure).observe(panel);
    addEventListener("resize", measure);
  });
})();
