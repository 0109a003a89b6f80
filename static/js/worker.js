/* Registers the service worker with the first answer, not the first view: before that there is no work to lose. */
(() => {
  "use strict";

  document.addEventListener("foretell:sending", () => {
    const address = document.querySelector('meta[name="worker"]')?.content;
    if (address) navigator.serviceWorker?.register(address).catch(() => {});
  }, { once: true });
})();
