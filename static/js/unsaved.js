/* A form with data-unsaved asks before its changes are lost. Without scripts nothing asks. */
(() => {
  "use strict";
  for (const form of document.querySelectorAll("form[data-unsaved]")) {
    const state = () => new URLSearchParams(new FormData(form)).toString();
    const saved = document.getElementById("errors") ? "" : state();
    let sending = false;
    form.addEventListener("submit", () => {
      sending = true;
    });
    addEventListener("beforeunload", (event) => {
      if (!sending && state() !== saved) event.preventDefault();
    });
  }
  document.getElementById("errors")?.focus();
})();
