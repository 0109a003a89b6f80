/* The service worker comes with the first answer, not with the first view: until then nobody has work to lose. */
(() => {
  "use strict";

  document.addEventListener("foretell:sending", () => {
    const address = document.querySelector('meta[name="worker"]')?.content;
    if (address) navigator.serviceWorker?.register(address).catch(() => {});
  }, { once: true });
})();
