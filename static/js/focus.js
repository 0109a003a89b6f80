/* After a swap: scroll to the top, focus the new task's heading, set the window title and announce what was saved. */
(() => {
  "use strict";
  const { foretell } = window;

  document.addEventListener("htmx:afterSwap", (event) => {
    const region = event.detail.target;
    if (!region || region.id !== "task-region") return;
    window.scrollTo(0, 0);
    const heading = region.querySelector("[data-heading]");
    if (heading) {
      heading.focus({ preventScroll: true });
      if (heading.dataset.heading) document.title = heading.dataset.heading;
    }
    const spoken = [...region.querySelectorAll("[data-announce]")].map((one) => one.dataset.announce).join(" ");
    if (spoken) foretell.say(spoken);
  });

  /* A notice that is confirmed goes, and its focused button with it: no event of it is seen after the swap. */
  document.addEventListener("htmx:beforeSwap", (event) => {
    if (!event.detail.target?.matches(".changed")) return;
    setTimeout(() => document.querySelector("[data-heading]")?.focus({ preventScroll: true }), 50);
  });

  /* After a refused answer, focus the first field with an error. */
  foretell.on("[data-asked][data-refused]", (asked) => {
    if (document.querySelector("[data-asked][data-refused]") === asked) {
      setTimeout(() => asked.querySelector("input, textarea")?.focus(), 0);
    }
  });
})();
