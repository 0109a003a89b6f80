/* Small status lines. Removes the "Saved" line, and its undo button, when the time that the study allows for undo is over. */
(() => {
  "use strict";
  const { foretell } = window;

  foretell.on("[data-undo]", (line) => {
    const seconds = Number(line.dataset.undo) || 10;
    setTimeout(() => {
      if (!line.isConnected) return;
      const inside = line.contains(document.activeElement);
      line.remove();
      if (inside) document.querySelector("[data-heading]")?.focus();
    }, seconds * 1000);
  });

  /* Small forms that change nothing on the page: sent behind it, and their line removed. */
  foretell.on("form[data-quiet]", (form) => {
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      const reply = await foretell.post(form.action, new URLSearchParams(new FormData(form))).catch(() => null);
      if (!reply?.ok) return;
      for (const line of document.querySelectorAll("[data-replies]")) line.remove();
      document.querySelector("[data-heading]")?.focus({ preventScroll: true });
    });
  });
})();
