/* The review desk by keys: A accepts, B R X E Q M open the other decisions, J and K go to the next and the last person, S selects, U undoes.
   What is sent and what is opened replaces the desk without loading the page again. Without scripts, every link and button works. */
(() => {
  "use strict";

  const typing = (target) => target.closest?.("input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable]");
  const desk = () => document.getElementById("desk-page");
  const boxes = () => [...document.querySelectorAll('input[name="rater"][form="desk"]')];

  function off() {
    try {
      return localStorage.getItem("foretell.keys-off") === "true";
    } catch {
      return false;
    }
  }

  function count() {
    const every = boxes();
    const n = every.filter((box) => box.checked).length;
    const told = document.querySelector("[data-selected]");
    const all = document.querySelector("[data-select-all]");
    if (told) told.textContent = n ? `${n} selected ${n === 1 ? "person" : "people"}` : told.dataset.one;
    if (!all) return;
    all.checked = n > 0 && n === every.length;
    all.indeterminate = n > 0 && n < every.length;
  }

  /* What only works with scripts is shown by them. */
  function ready() {
    for (const hidden of document.querySelectorAll("[data-selects], [data-toggle-select]")) hidden.hidden = false;
    count();
    const row = document.querySelector(".desk-row--here");
    const list = row?.closest(".desk-list");
    if (list) list.scrollTop = Math.max(0, row.offsetTop - list.offsetTop - list.clientHeight / 3);
  }

  /* Put the desk of a reply in place of this one. While it's loading, keys do nothing: the next person isn't seen yet. */
  async function load(address, options = {}) {
    const page = desk();
    if (page.hasAttribute("aria-busy")) return;
    page.setAttribute("aria-busy", "true");
    let reply;
    let text;
    try {
      reply = await fetch(address, { credentials: "same-origin", ...options });
      text = await reply.text();
    } catch {
      page.removeAttribute("aria-busy");
      page.querySelector("[data-said]").textContent = "The server can't be reached. Reload the page, and look at what was decided.";
      return;
    }
    const fresh = new DOMParser().parseFromString(text, "text/html").getElementById("desk-page");
    if (!fresh) {
      window.location.href = reply.url;
      return;
    }
    page.replaceWith(document.adoptNode(fresh));
    window.history.replaceState(null, "", reply.url);
    ready();
    (document.getElementById("desk-errors") || document.getElementById("person-title"))?.focus({ preventScroll: !reply.ok ? false : true });
  }

  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (!desk()?.contains(form) || form.method !== "post") return;
    event.preventDefault();
    load(form.action, { method: "POST", body: new FormData(form, event.submitter) });
  });

  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[data-key], .desk-row a, .desk-lists a, .desk-signs a");
    if (link && desk()?.contains(link) && event.button === 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
      event.preventDefault();
      load(link.href);
    } else if (event.target.closest?.("[data-toggle-select]")) {
      const box = document.querySelector(".desk-row--here input");
      if (box) box.checked = !box.checked;
      count();
    }
  });

  document.addEventListener("change", (event) => {
    const { target } = event;
    if (target.matches("[data-select-all]")) for (const box of boxes()) box.checked = target.checked;
    if (target.matches('[data-select-all], input[name="rater"]')) count();
    if (target.matches("[data-fills]") && target.value) {
      const field = document.getElementById(target.dataset.fills);
      field.value = target.value;
      field.focus();
    }
  });

  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.isComposing || event.repeat || !desk()) return;
    const { target } = event;
    const form = document.getElementById("desk");
    if (event.key === "Escape" && form?.contains(target) && typing(target)) {
      target.blur();
      return;
    }
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && form?.contains(target)) {
      event.preventDefault();
      target.closest("details")?.querySelector("button[name=decision]")?.click();
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || typing(target) || off()) return;
    if (!/^[a-z]$/i.test(event.key) || desk().hasAttribute("aria-busy")) return;
    const found = document.querySelector(`[data-key="${event.key.toLowerCase()}"]`);
    if (!found) return;
    event.preventDefault();
    if (found.tagName === "DETAILS") {
      found.open = true;
      const field = found.querySelector("input:not([type=hidden], [type=checkbox]), select, textarea, button");
      (field || found.querySelector("summary")).focus();
    } else {
      found.click();
    }
  });

  if (desk()) ready();
})();
