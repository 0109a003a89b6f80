/* Registers the service worker, so that a reload without a connection says so instead of failing: with the first sign that
   somebody works on the page, or after a few seconds, when everything else has loaded. */
(() => {
  "use strict";
  const { foretell } = window;
  const DELAY = 3000;
  let done = false;

  function register() {
    const address = document.querySelector('meta[name="worker"]')?.content;
    if (done || !address) return;
    done = true;
    navigator.serviceWorker?.register(address).catch(() => {});
  }

  foretell.on("form[data-task]", () => {
    for (const sign of ["change", "foretell:sending"]) document.addEventListener(sign, register, { once: true });
    setTimeout(register, DELAY);
  });
})();
