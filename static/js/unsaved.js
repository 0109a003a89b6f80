/* A form with data-unsaved asks before its changes are lost. Without scripts nothing asks. */
(() => {
  "use strict";
  for (const form of document.querySelectorAll("form[data-unsaved]")) {
    const state = () => new URLSearchParams(new FormData(form)).toString();
    const saved = document.getElementById("errors") ? "" : state();
    let sending = false;
    form.addEventListener("submit", (event) => {
      // What is shown in a frame or a new tab leaves this page as it is.
      sending = !event.submitter?.formTarget;
    });
    addEventListener("beforeunload", (event) => {
      if (!sending && state() !== saved) event.preventDefault();
    });
  }
  document.getElementById("errors")?.focus();
})();
