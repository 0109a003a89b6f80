/* Shows the time left in the last minutes of a lease, with a button that asks for more. */
(() => {
  "use strict";
  const { foretell } = window;

  const clock = (seconds) => `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;

  foretell.on("[data-lease]", (line) => {
    const warn = Number(line.dataset.leaseWarn) || 180;
    const words = line.querySelector("[data-lease-words]");
    const button = line.querySelector("[data-lease-more]");
    let end = performance.now() + Number(line.dataset.lease) * 1000;
    let said = Infinity;

    function tick() {
      if (!line.isConnected) {
        clearInterval(timer);
        return;
      }
      const left = Math.max(0, Math.ceil((end - performance.now()) / 1000));
      line.hidden = left > warn;
      if (line.hidden) {
        said = Infinity;
        return;
      }
      words.textContent = left ? line.dataset.left.replace("{time}", clock(left)) : line.dataset.over;
      line.classList.toggle("line--bad", left === 0);
      for (const mark of [0, 30, warn]) {
        if (left <= mark && said > mark) {
          said = mark;
          foretell.say(words.textContent);
          break;
        }
      }
    }

    const timer = setInterval(tick, 1000);
    tick();

    line.querySelector("form")?.addEventListener("submit", async (event) => {
      event.preventDefault();
      button.disabled = true;
      try {
        const reply = await foretell.post(event.target.action, new URLSearchParams(new FormData(event.target)));
        const { lease_until: until, message } = await reply.json();
        if (reply.ok && until) {
          /* Measured by the server's clock, because the device's may be wrong. */
          const server = Date.parse(reply.headers.get("Date")) || Date.now();
          end = performance.now() + (Date.parse(until) - server);
          tick();
          foretell.say(line.dataset.more);
          document.querySelector("[data-heading]")?.focus({ preventScroll: true });
        } else {
          words.textContent = message || line.dataset.refused;
        }
      } catch {
        words.textContent = line.dataset.refused;
      } finally {
        button.disabled = false;
      }
    });
  });
})();
