/* The admin frame's navigations and scrolling parts are landmarks of one name; each gets its own. */
(() => {
  "use strict";
  const name = () => {
    document.getElementById("nav-sidebar-inner")?.setAttribute("aria-label", "Rooms");
    for (const [place, part] of document.querySelectorAll("main nav:not([aria-label])").entries()) {
      part.setAttribute("aria-label", `Sections ${place + 1}`);
    }
    for (const [place, part] of document.querySelectorAll(".simplebar-content-wrapper").entries()) {
      part.setAttribute("aria-label", `${part.closest("nav, aside, [id]")?.id || "scrolling part"} ${place + 1}`);
    }
  };
  addEventListener("load", name);
})();
