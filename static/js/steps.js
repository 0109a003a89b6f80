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

  function unfold(form) {
    /* In order, so that hiding a step also hides the steps that depend on it. */
    for (const asked of form.querySelectorAll("[data-when]")) {
      const open = JSON.parse(asked.dataset.when).every((condition) => holds(form, condition));
      asked.hidden = !open;
      asked.disabled = !open;
    }
  }

  function mark(form) {
    const all = [...form.querySelectorAll("[data-asked]")];
    const open = all.find((asked) => !answered(asked));
    for (const asked of all) asked.toggleAttribute("data-open-question", asked === open);
    form.foretellMissing = all.filter((asked) => !answered(asked));
    form.dispatchEvent(new CustomEvent("foretell:state", { bubbles: true }));
  }

  function refresh(form) {
    unfold(form);
    mark(form);
  }

  foretell.refresh = refresh;
  foretell.on("form[data-task]", (form) => {
    form.noValidate = true;
    form.addEventListener("input", () => refresh(form));
    form.addEventListener("change", () => refresh(form));
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
