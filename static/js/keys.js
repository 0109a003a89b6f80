/* Keyboard shortcuts: 0-9 (and H for 100 %) choose an answer, Enter submits, J and K go to the next and the last question, T to the text, U undoes, Z enlarges an
   image, / finds in the text, I opens the instructions, . the menu, ? the list of shortcuts, where they can be turned off. */
(() => {
  "use strict";
  const { foretell } = window;
  const OFF = "foretell.keys-off";

  const show = (off) => document.documentElement.toggleAttribute("data-keys-off", off);
  show(foretell.keep.get(OFF) === true);

  foretell.on("[data-keys-switch]", (box) => {
    box.checked = foretell.keep.get(OFF) !== true;
    box.addEventListener("change", () => {
      foretell.keep.set(OFF, box.checked ? null : true);
      show(!box.checked);
    });
  });

  /* Choose the options that this field depends on, keeping those already met. */
  function meet(form, asked, depth = 0) {
    if (!asked.dataset.when || depth > 8) return;
    for (const [name, values] of JSON.parse(asked.dataset.when)) {
      const inputs = [...form.querySelectorAll(`[name="${CSS.escape(name)}"]`)];
      const first = inputs[0]?.closest("[data-asked]");
      if (first) meet(form, first, depth + 1);
      if (inputs.some((input) => input.checked && values.includes(input.value))) continue;
      const wanted = inputs.find((input) => values.includes(input.value));
      if (wanted) wanted.checked = true;
    }
  }

  function choose(form, input) {
    const asked = input.closest("[data-asked]");
    meet(form, asked);
    foretell.refresh(form);
    form.foretellAnswering = true;
    input.focus({ preventScroll: true });
    form.foretellAnswering = false;
    form.foretellArrow = false;
    input.checked = input.type === "checkbox" ? !input.checked : true;
    input.dispatchEvent(new Event("change", { bubbles: true })); /* may take the focus along to the next question */
  }

  /* Number keys answer the current question (steps.js marks it), whichever of its steps has that key. */
  function optionFor(form, key) {
    return form.querySelector(`[data-current] input[data-key="${key}"]`);
  }

  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.isComposing) return;
    const form = foretell.form();
    const { target } = event;
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && form && target.closest?.("form") === form) {
      event.preventDefault();
      if (!event.repeat) form.requestSubmit();
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || foretell.typing(target)) return;
    if (document.querySelector("dialog[open]")) return;

    if (event.key === "Enter") {
      if (!form || event.repeat || target.closest?.("a, button, summary, label")) return;
      event.preventDefault();
      form.requestSubmit();
      return;
    }
    if (document.documentElement.hasAttribute("data-keys-off")) return;

    if (/^[0-9h]$/i.test(event.key) && form && !form.hasAttribute("data-sending")) {
      const input = optionFor(form, event.key.toUpperCase());
      if (!input) return;
      event.preventDefault();
      document.dispatchEvent(new CustomEvent("foretell:key"));
      choose(form, input);
    } else if (event.key === "?") {
      document.getElementById("keys-help")?.showModal();
    } else if (event.key === ".") {
      const menu = document.querySelector("[data-menu]");
      if (!menu) return;
      event.preventDefault();
      menu.open = !menu.open;
      menu.querySelector("summary").focus();
    } else if (event.key === "i" || event.key === "I") {
      document.querySelector("[data-drawer-toggle]")?.click();
    } else if (event.key === "u" || event.key === "U") {
      document.querySelector("[data-undo] button")?.click();
    } else if (event.key === "/" && foretell.find) {
      event.preventDefault();
      foretell.find();
    } else if (form && event.key.toLowerCase() === "z") {
      foretell.zoom(form);
    } else if (form && "jkt".includes(event.key.toLowerCase())) {
      event.preventDefault();
      if (event.key.toLowerCase() === "t") foretell.toText(form);
      else foretell.step(form, event.key.toLowerCase() === "j" ? 1 : -1);
    }
  });

  foretell.on("[data-dialog]", (button) => {
    button.addEventListener("click", () => document.getElementById(button.dataset.dialog)?.showModal());
  });
})();
