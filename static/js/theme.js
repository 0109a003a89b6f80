/* Light, dark or the device setting, kept in a cookie so that the server renders the next page in the right theme. */
(() => {
  "use strict";
  const { foretell } = window;

  foretell.on("[data-theme-choice]", (input) => {
    const now = document.documentElement.dataset.theme || "auto";
    input.checked = input.value === now;
    input.addEventListener("change", () => {
      const { value } = input;
      if (value === "auto") delete document.documentElement.dataset.theme;
      else document.documentElement.dataset.theme = value;
      const age = value === "auto" ? 0 : 31536000;
      document.cookie = `theme=${value};path=/;max-age=${age};samesite=lax`;
    });
  });
})();
