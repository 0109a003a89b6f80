/* After a swap: scroll to the top, focus the new task's heading, set the window title and announce what was saved. */
(() => {
  "use strict";
  const { foretell } = window;

  /* What to announce; an answer in another language than the page is marked, so that it is read in its own. */
  function announcement({ announce, announceAnswer: answer, announceLanguage: language }) {
    const at = language ? announce.indexOf(answer) : -1;
    if (at < 0) return [announce];
    const marked = document.createElement("span");
    marked.lang = language;
    marked.textContent = answer;
    return [announce.slice(0, at), marked, announce.slice(at + answer.length)];
  }

  document.addEventListener("htmx:afterSwap", (event) => {
    const region = event.detail.target;
    if (!region || region.id !== "task-region") return;
    window.scrollTo(0, 0);
    const heading = region.querySelector("[data-heading]");
    if (heading) {
      heading.focus({ preventScroll: true });
      if (heading.dataset.heading) document.title = heading.dataset.heading;
    }
    const spoken = [...region.querySelectorAll("[data-announce]")].flatMap((one) => [...announcement(one.dataset), " "]);
    if (spoken.length) foretell.say(...spoken.slice(0, -1));
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
