/* Forms that load a new page. Without a connection the page stays, with everything that was typed, and says so; the
   browser's own error page would lose it. On a page that has been open for a while, as an exam is, nobody knows whether
   there is one: its form is sent once the server has responded to a small request. Forms that scripts send are left alone. */
(() => {
  "use strict";
  const { foretell } = window;
  const WAIT = 10000;
  const RECENT = 60000;
  const worker = document.querySelector('meta[name="worker"]')?.content;
  const address = worker && new URL("livez", new URL(worker, location.href));

  async function reachable() {
    if (!navigator.onLine) return false;
    try {
      return (await fetch(address, { cache: "no-store", signal: AbortSignal.timeout(WAIT) })).status < 500;
    } catch {
      return false;
    }
  }

  /* What the browser would send, with the button that was pressed. */
  function send(form, button) {
    const pressed = document.createElement("input");
    pressed.type = "hidden";
    [pressed.name, pressed.value] = [button?.name ?? "", button?.value ?? ""];
    form.append(pressed);
    HTMLFormElement.prototype.submit.call(form);
    pressed.remove();
  }

  function tell(form, button) {
    const notice = document.querySelector("[data-not-sent]");
    const beside = button?.parentElement ?? form.lastElementChild;
    beside.before(notice);
    notice.hidden = true;
    setTimeout(() => (notice.hidden = false)); /* shown anew, so that screen readers announce it each time */
  }

  document.addEventListener("submit", async (event) => {
    const { target: form, submitter: button } = event;
    if (event.defaultPrevented || !address || form.method !== "post") return;
    if (navigator.onLine && performance.now() < RECENT) return;
    event.preventDefault();
    if (form.hasAttribute("data-checking")) return;
    form.toggleAttribute("data-checking", true);
    const well = await reachable();
    form.toggleAttribute("data-checking", false);
    if (well) return send(form, button);
    foretell.sending(form, false);
    tell(form, button);
  });
})();
