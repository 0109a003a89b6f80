/* Offers "find in the text" where a text is long, and loads the search only then: most tasks don't need it. */
(() => {
  "use strict";
  const { foretell } = window;
  const LONG = 1500;
  const texts = () => [...document.querySelectorAll(".task__material :is(.block__text, .block__list)")];

  foretell.on("[data-find-open]", (button) => {
    button.hidden = !texts().some((text) => text.textContent.length >= LONG);
    if (button.hidden || document.querySelector("script[data-find-script]")) return;
    const script = document.createElement("script");
    script.src = button.dataset.findOpen;
    script.dataset.findScript = "";
    document.head.append(script);
  });
})();
