/* The instructions drawer: opens beside the task, restores its scroll position and returns the focus. */
(() => {
  "use strict";
  const { foretell } = window;
  let opener = null;

  const drawer = () => document.querySelector("[data-drawer]");
  const memory = () => `foretell.drawer.${drawer().dataset.drawer}`;

  function restore(element) {
    try {
      element.querySelector("[data-drawer-body]").scrollTop = Number(sessionStorage.getItem(memory())) || 0;
    } catch {
      /* no storage: it opens at the top */
    }
  }

  function set(open) {
    const element = drawer();
    if (!element) return;
    element.toggleAttribute("data-open", open);
    document.documentElement.toggleAttribute("data-drawer-open", open);
    for (const toggle of document.querySelectorAll("[data-drawer-toggle]")) {
      toggle.setAttribute("aria-expanded", String(open));
    }
    if (open) {
      const body = element.querySelector("[data-drawer-body]");
      window.htmx?.trigger(body, "foretell:open");
      body.addEventListener("htmx:afterSettle", () => restore(element), { once: true });
      restore(element);
      element.querySelector("h2").focus({ preventScroll: true });
    } else {
      (opener?.isConnected ? opener : document.querySelector("[data-drawer-toggle]"))?.focus({ preventScroll: true });
    }
  }

  foretell.on("[data-drawer-toggle]", (toggle) => {
    if (!drawer()) return;
    toggle.setAttribute("role", "button");
    toggle.setAttribute("aria-controls", "instructions");
    toggle.removeAttribute("target");
    toggle.setAttribute("aria-expanded", String(drawer().hasAttribute("data-open")));
    toggle.addEventListener("click", (event) => {
      event.preventDefault();
      opener = toggle;
      set(!drawer()?.hasAttribute("data-open"));
    });
    toggle.addEventListener("keydown", (event) => {
      if (event.key === " ") {
        event.preventDefault();
        toggle.click();
      }
    });
  });

  foretell.on("[data-drawer]", (element) => {
    element.querySelector("[data-drawer-close]").addEventListener("click", (event) => {
      event.preventDefault();
      set(false);
    });
    const body = element.querySelector("[data-drawer-body]");
    let waiting = 0;
    body.addEventListener(
      "scroll",
      () => {
        clearTimeout(waiting);
        waiting = setTimeout(() => {
          try {
            sessionStorage.setItem(memory(), String(body.scrollTop));
          } catch {
            /* no storage: the position is not kept */
          }
        }, 150);
      },
      { passive: true },
    );
  });

  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && drawer()?.hasAttribute("data-open") && !document.querySelector("dialog[open]")) {
      set(false);
    }
  });
})();
