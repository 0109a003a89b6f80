/* After a swap: to the top, focus on the new task's heading, the window's title, and what was kept said aloud. */
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

  /* An answer that was refused: to the first thing to put right. */
  foretell.on("[data-asked][data-refused]", (asked) => {
    if (document.querySelector("[data-asked][data-refused]") === asked) {
      setTimeout(() => asked.querySelector("input, textarea")?.focus(), 0);
    }
  });
})();
