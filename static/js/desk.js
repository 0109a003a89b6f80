/* The review desk by keys: A accepts, B R X E Q M open the other decisions, J and K go to the next and the last person, S selects, U undoes.
   Without scripts, every link and button works. */
(() => {
  "use strict";

  const typing = (target) => target.closest?.("input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable]");

  function off() {
    try {
      return localStorage.getItem("foretell.keys-off") === "true";
    } catch {
      return false;
    }
  }

  /* Template -> the field that it fills. */
  for (const select of document.querySelectorAll("[data-fills]")) {
    select.addEventListener("change", () => {
      const field = document.getElementById(select.dataset.fills);
      if (select.value && field) {
        field.value = select.value;
        field.focus();
      }
    });
  }

  const form = document.getElementById("desk");
  const boxes = [...document.querySelectorAll('input[name="rater"][form="desk"]')];
  const told = document.querySelector("[data-selected]");
  const all = document.querySelector("[data-select-all]");

  function count() {
    const n = boxes.filter((box) => box.checked).length;
    if (told) told.textContent = n ? `${n} selected ${n === 1 ? "person" : "people"}` : told.dataset.one;
    if (all) {
      all.checked = n > 0 && n === boxes.length;
      all.indeterminate = n > 0 && n < boxes.length;
    }
  }

  if (all) {
    all.closest("[data-selects]").hidden = false;
    all.addEventListener("change", () => {
      for (const box of boxes) box.checked = all.checked;
      count();
    });
  }
  for (const box of boxes) box.addEventListener("change", count);
  count();
  document.querySelector(".desk-row--here")?.scrollIntoView({ block: "nearest" });

  const toggle = document.querySelector("[data-toggle-select]");
  if (toggle) {
    toggle.hidden = false;
    toggle.addEventListener("click", () => {
      const box = document.querySelector(".desk-row--here input");
      if (!box) return;
      box.checked = !box.checked;
      count();
    });
  }

  /* A form is sent once, however often its button is pressed. */
  for (const one of document.querySelectorAll("#desk, #desk-held")) {
    one.addEventListener("submit", (event) => {
      if (one.dataset.sending) event.preventDefault();
      one.dataset.sending = "1";
    });
  }
  window.addEventListener("pageshow", () => {
    for (const one of document.querySelectorAll("#desk, #desk-held")) delete one.dataset.sending;
  });

  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.isComposing || event.repeat) return;
    const { target } = event;
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
    if (!/^[a-z]$/i.test(event.key)) return;
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
})();
