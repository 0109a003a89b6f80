/* A button with data-copy copies the value of the field that it names, and says so. */
(() => {
  "use strict";
  for (const button of document.querySelectorAll("button[data-copy]")) {
    const field = document.getElementById(button.dataset.copy);
    const label = button.textContent;
    if (!field) continue;
    button.hidden = false;
    button.addEventListener("click", async () => {
      field.select();
      try {
        await navigator.clipboard.writeText(field.value);
      } catch {
        document.execCommand("copy"); // no clipboard without https
      }
      button.textContent = button.dataset.copied ?? "Copied";
      setTimeout(() => {
        button.textContent = label;
      }, 2000);
    });
  }
})();
