/* The submit button: says what is missing, sends once, and shows that it is sending. */
(() => {
  "use strict";
  const { foretell } = window;

  function label(form) {
    const button = form.querySelector("[data-send]");
    if (!button || "sending" in button.dataset) return;
    const missing = form.foretellMissing || [];
    const words = button.querySelector("[data-words]");
    words.dataset.ready ??= words.textContent;
    const first = missing[0];
    const left = form.querySelectorAll("[data-asked][data-required]:not([hidden])").length;
    let text = words.dataset.ready;
    if (first) {
      text = first.querySelector("textarea") ? button.dataset.write : button.dataset.choose;
      if (left > 2) text = button.dataset.left.replace("{number}", missing.length);
    }
    words.textContent = text;
    button.setAttribute("aria-disabled", first ? "true" : "false");
    const key = button.querySelector(".key");
    if (key) key.hidden = Boolean(first);
  }

  /* A question's own words for a missing answer, shown once it was missed and until it is answered; null if it has none. */
  function ownWords(asked, on) {
    const words = asked.querySelector("[data-missing]");
    if (!words) return null;
    words.hidden = !on;
    const others = (asked.getAttribute("aria-describedby") ?? "").split(" ").filter((id) => id && id !== words.id);
    const ids = [...others, ...(on ? [words.id] : [])];
    if (ids.length) asked.setAttribute("aria-describedby", ids.join(" "));
    else asked.removeAttribute("aria-describedby");
    return words.textContent;
  }

  function sending(form, on) {
    const button = form.querySelector("[data-send]");
    if (!button) return;
    button.toggleAttribute("data-sending", on);
    form.toggleAttribute("data-sending", on);
    const key = button.querySelector(".key");
    if (key) key.hidden = on;
    if (on) button.querySelector("[data-words]").textContent = button.dataset.sendingWords;
    else label(form);
  }

  foretell.sending = sending;
  /* The answer is saved on this device: the button no longer says that it's being submitted. */
  foretell.waiting = (form) => {
    const button = form.querySelector("[data-send]");
    if (button?.dataset.waitingWords) button.querySelector("[data-words]").textContent = button.dataset.waitingWords;
  };
  document.addEventListener("foretell:state", ({ target }) => {
    label(target);
    for (const words of target.querySelectorAll("[data-missing]:not([hidden])")) {
      const asked = words.closest("[data-asked]");
      if (!target.foretellMissing.includes(asked)) ownWords(asked, false);
    }
  });

  /* Runs before htmx and the browser, so that no form is sent incomplete or twice. */
  document.addEventListener(
    "submit",
    (event) => {
      const form = event.target;
      if (!form.matches("form[data-task]")) return;
      const stop = () => {
        event.preventDefault();
        event.stopImmediatePropagation();
      };
      if (form.hasAttribute("data-sending")) return stop();
      foretell.refresh(form);
      const first = form.foretellMissing[0];
      if (first) {
        stop();
        first.scrollIntoView({ block: "nearest" });
        first.querySelector("input, textarea")?.focus();
        const own = ownWords(first, true);
        foretell.say(own ?? form.querySelector("[data-words]").textContent);
        return;
      }
      form.dispatchEvent(new CustomEvent("foretell:sending", { bubbles: true }));
      sending(form, true);
    },
    true,
  );

  /* The back button may restore a stale page from the cache: reload it. */
  addEventListener("pageshow", (event) => {
    const form = foretell.form();
    if (event.persisted && form) location.reload();
  });
})();
