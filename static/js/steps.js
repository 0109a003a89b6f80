/* Steps: a field whose conditions do not hold is folded away and not sent; the block that is asked about is marked. */
(() => {
  "use strict";
  const { foretell } = window;

  /* Whether the field is answered; folded and optional ones always are. */
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
    /* In order, so that a step that is folded away takes its own later steps with it. */
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

  /* The dock's height, so that the instructions end above it and nothing focused hides behind it. */
  foretell.on(".panel", (panel) => {
    const measure = () => {
      const docked = getComputedStyle(panel).position === "sticky" && getComputedStyle(panel).bottom !== "auto";
      document.documentElement.style.setProperty("--dock", docked ? `${panel.offsetHeight}px` : "0px");
    };
    new ResizeObserver(measure).observe(panel);
    addEventListener("resize", measure);
  });
})();
