/* The theme is the one of all other pages: a cookie, which Unfold's own setting follows. */
(() => {
  "use strict";
  const root = document.documentElement;
  const cookie = () => /(?:^|; )theme=(light|dark)/.exec(document.cookie)?.[1] || "auto";
  const show = (theme) => {
    if (theme === "auto") delete root.dataset.theme;
    else root.dataset.theme = theme;
  };
  show(cookie());
  try {
    localStorage.setItem("adminTheme", JSON.stringify(cookie()));
  } catch {
    return;
  }
  // Unfold looks at the device's setting only when a page is loaded.
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", ({ matches }) => {
    if (cookie() === "auto") root.classList.toggle("dark", matches);
  });
  document.addEventListener("click", () =>
    setTimeout(() => {
      const theme = JSON.parse(localStorage.getItem("adminTheme"));
      if (theme === cookie()) return;
      document.cookie = `theme=${theme};path=/;max-age=${theme === "auto" ? 0 : 31536000};samesite=lax`;
      show(theme);
    }, 0),
  );
})();

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
