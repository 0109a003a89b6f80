/* Unfold gives its navigations and scrolling regions no labels; landmarks need unique ones. */
(() => {
  "use strict";
  const name = () => {
    document.getElementById("nav-sidebar-inner")?.setAttribute("aria-label", "Main navigation");
    for (const [place, part] of document.querySelectorAll("main nav:not([aria-label])").entries()) {
      part.setAttribute("aria-label", `Section navigation ${place + 1}`);
    }
    for (const [place, part] of document.querySelectorAll(".simplebar-content-wrapper").entries()) {
      part.setAttribute("aria-label", `${part.closest("nav, aside, [id]")?.id || "scrollable region"} ${place + 1}`);
    }
  };
  addEventListener("load", name);
})();
