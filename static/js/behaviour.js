/* Loads the script of a question that few tasks have (a slider, marked passages), when the page has such a question. */
(() => {
  "use strict";
  window.foretell.on("[data-behaviour]", ({ dataset }) => {
    if (document.querySelector(`script[src="${CSS.escape(dataset.behaviour)}"]`)) return;
    const script = document.createElement("script");
    script.src = dataset.behaviour;
    script.addEventListener("load", () => window.foretell.attach(document));
    document.head.append(script);
  });
})();
