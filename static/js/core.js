/* Shared by all behaviours: attaching to elements, announcing to screen readers, posting. Behaviours attach through data-*
   attributes, again after each htmx swap. Reading, answering and submitting work without any of them. */
(() => {
  "use strict";

  const root = document.documentElement;
  root.dataset.script = "";

  const attached = [];

  function attachAll(scope) {
    for (const [selector, attach] of attached) {
      const found = [...scope.querySelectorAll(selector)];
      if (scope.matches && scope.matches(selector)) found.push(scope);
      for (const element of found) {
        element.foretell ||= new Set();
        if (element.foretell.has(attach)) continue;
        element.foretell.add(attach);
        attach(element);
      }
    }
  }

  const foretell = (window.foretell = {
    /* Call `attach(element)` once for each matching element, now and after each swap. */
    on(selector, attach) {
      attached.push([selector, attach]);
    },

    /* Attach what was registered; for scripts that are loaded late. */
    attach: attachAll,

    /* Announce a line to screen readers: a text, or texts and elements. */
    say(...parts) {
      const live = document.getElementById("live");
      if (!live) return;
      live.textContent = "";
      setTimeout(() => live.replaceChildren(...parts), 50);
    },

    form: () => document.querySelector("form[data-task], form[data-next]"),

    csrf: () => document.querySelector('meta[name="csrf-token"]')?.content || "",

    /* POST form data to this server. Rejects only when there is no response. */
    post(url, data, options = {}) {
      return fetch(url, {
        method: "POST",
        body: data,
        credentials: "same-origin",
        headers: { "X-CSRFToken": foretell.csrf(), "X-Requested-With": "fetch", Accept: "application/json" },
        ...options,
      });
    },

    /* Local storage. When it is full or disabled, nothing is stored and nothing fails. */
    keep: {
      get(name) {
        try {
          return JSON.parse(localStorage.getItem(name));
        } catch {
          return null;
        }
      },
      set(name, value) {
        try {
          if (value === null) localStorage.removeItem(name);
          else localStorage.setItem(name, JSON.stringify(value));
          return true;
        } catch {
          return false;
        }
      },
      names(prefix) {
        try {
          return Object.keys(localStorage).filter((name) => name.startsWith(prefix));
        } catch {
          return [];
        }
      },
    },

    typing(target) {
      return target.matches?.(
        'textarea, select, [contenteditable], input:not([type="radio"], [type="checkbox"], [type="submit"], [type="button"])',
      );
    },
  });

  document.addEventListener("DOMContentLoaded", () => attachAll(document));
  document.addEventListener("htmx:load", (event) => attachAll(event.detail.elt));
  addEventListener("beforeprint", () => {
    for (const fold of document.querySelectorAll("details:is(.fold, .example)")) fold.open = true;
  });
})();
