/* Registers the service worker, so that a reload without a connection says so instead of failing: with the first sign that
   somebody works on the page, or after a few seconds, when everything else has loaded. Its pages are in the language in which
   it was registered, so a page in another language replaces it at once. */
(() => {
  "use strict";
  const { foretell } = window;
  const DELAY = 3000;
  const address = document.querySelector('meta[name="worker"]')?.content;
  let done = false;

  function register() {
    if (done || !address) return;
    done = true;
    navigator.serviceWorker?.register(address).catch(() => {});
  }

  foretell.on("form[data-task]", () => {
    for (const sign of ["change", "foretell:sending"]) document.addEventListener(sign, register, { once: true });
    setTimeout(register, DELAY);
  });

  const current = navigator.serviceWorker?.controller;
  if (address && current && current.scriptURL !== new URL(address, location.href).href) register();
})();
