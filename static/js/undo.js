/* Removes the "Saved" line, and its undo button, when the time that the study allows for undo is over. */
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
})();
