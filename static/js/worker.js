/* Registers the service worker, so that a reload without a connection says so instead of failing: with the first sign that
   somebody works on the page, or after a few seconds, when everything else has loaded. Tells it the language of this page,
   which is that of the pages that it shows. */
(() => {
  "use strict";
  const { foretell } = window;
  const DELAY = 3000;
  const address = document.querySelector('meta[name="worker"]')?.content;
  const workers = navigator.serviceWorker;
  let done = false;

  const tell = (worker) => worker?.postMessage({ language: document.documentElement.lang });

  function register() {
    if (done || !address) return;
    done = true;
    workers
      ?.register(address)
      .then(({ active, waiting, installing }) => tell(active ?? waiting ?? installing))
      .catch(() => {});
  }

  foretell.on("form[data-task]", () => {
    for (const sign of ["change", "foretell:sending"]) document.addEventListener(sign, register, { once: true });
    setTimeout(register, DELAY);
  });

  tell(workers?.controller);
})();
