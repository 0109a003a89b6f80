/* What the behaviours share: a way to attach, to say something aloud, to post. Every behaviour is attached by data-*
   attributes and works again after htmx has swapped the task. No behaviour is needed to read, answer and submit. */
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
    /* Call `attach(element)` once for every element that matches, now and after each swap. */
    on(selector, attach) {
      attached.push([selector, attach]);
    },

    /* Say a line to people who listen to the page. */
    say(text) {
      const live = document.getElementById("live");
      if (!live) return;
      live.textContent = "";
      setTimeout(() => (live.textContent = text), 50);
    },

    form: () => document.querySelector("form[data-task], form[data-next]"),

    csrf: () => document.querySelector('meta[name="csrf-token"]')?.content || "",

    /* POST form data to our own server. Rejects only when no answer came at all. */
    post(url, data, options = {}) {
      return fetch(url, {
        method: "POST",
        body: data,
        credentials: "same-origin",
        headers: { "X-CSRFToken": foretell.csrf(), "X-Requested-With": "fetch", Accept: "application/json" },
        ...options,
      });
    },

    /* Storage that may be full, or forbidden: then nothing is kept, and nothing breaks. */
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
    for (const fold of document.querySelectorAll("details.fold")) fold.open = true;
  });
})();
