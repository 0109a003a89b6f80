/* Keeps what a researcher has typed when the login ended before the form was submitted: the server then shows the login page
   instead. After the login, the same person finds the form filled in again, in this tab. Files and passwords aren't kept. */
(() => {
  "use strict";
  const KEY = "foretell-kept-form";
  const LONGEST = 12 * 60 * 60 * 1000;
  const person = document.querySelector("meta[name=person]")?.content;

  function read() {
    try {
      const kept = JSON.parse(sessionStorage.getItem(KEY));
      return kept && Date.now() - kept.at < LONGEST ? kept : null;
    } catch {
      return null;
    }
  }

  function write(kept) {
    try {
      if (kept) sessionStorage.setItem(KEY, JSON.stringify(kept));
      else sessionStorage.removeItem(KEY);
    } catch {
      /* No storage, or too much text for it: nothing is kept. */
    }
  }

  const isTyped = (control) =>
    control.name && control.name !== "csrfmiddlewaretoken" && !["password", "file", "hidden"].includes(control.type);

  /* Only forms that a page sends to its own address: after the login, that is the page which is shown. */
  function isOwn(form) {
    const action = form.getAttribute("action");
    const method = form.getAttribute("method") || "get";
    return method.toLowerCase() === "post" && (!action || new URL(action, location.href).pathname === location.pathname);
  }

  function keep(event) {
    const form = event.target;
    if (!person || !isOwn(form)) return;
    const typed = new Set([...form.elements].filter(isTyped).map((control) => control.name));
    const fields = [...new FormData(form)].filter(([name, value]) => typed.has(name) && typeof value === "string");
    const at = Date.now();
    write({ person, path: location.pathname, form: [...document.forms].indexOf(form), names: [...typed], fields, at });
  }

  function fill(form, kept) {
    for (const control of [...form.elements].filter(isTyped)) {
      if (!kept.names.includes(control.name)) continue;
      const values = kept.fields.filter(([name]) => name === control.name).map(([, value]) => value);
      if (control.type === "checkbox" || control.type === "radio") control.checked = values.includes(control.value);
      else if (control.tagName === "SELECT")
        for (const option of control.options) option.selected = values.includes(option.value);
      else control.value = values[0] ?? "";
      control.dispatchEvent(new Event("change", { bubbles: true }));
    }
  }

  function say(place, words) {
    const note = document.createElement("p");
    note.className = "kept-note notice";
    note.setAttribute("role", "status");
    note.textContent = words;
    place.prepend(note);
  }

  function start() {
    document.addEventListener("submit", keep);
    const kept = read();
    if (!kept) return;
    if (!person) {
      write({ ...kept, interrupted: true });
      const place = document.querySelector("main");
      if (place) say(place, "What you entered was not sent, but this tab keeps it. Log in or reload the page to find it in the form again.");
      return;
    }
    if (kept.interrupted && kept.person === person && kept.path !== location.pathname) return;
    write(null);
    const form = document.forms[kept.form];
    if (!kept.interrupted || kept.person !== person || !form || !isOwn(form)) return;
    fill(form, kept);
    say(form, "You had been logged out. What you entered before is filled in again; choose files again. Check it, then save.");
  }

  if (document.readyState === "loading") addEventListener("DOMContentLoaded", start);
  else start();
})();
