/* Light, dark, or as the device says: kept in a cookie, so that the server draws the next page right at once. */
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
