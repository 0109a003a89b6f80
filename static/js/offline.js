/* Handles a lost connection. An answer that couldn't be sent is saved on this device and sent when the server responds
   again. The server recognises a repeated submit by its task and stage. A status line says what is happening. */
(() => {
  "use strict";
  const { foretell } = window;
  const BOX = "foretell.outbox";
  const WAITS = [2, 5, 10, 20, 30];
  let tries = 0;
  let waiting = 0;
  let busy = false;

  const line = () => document.querySelector("[data-network]");
  const box = () => foretell.keep.get(BOX) || [];

  function tell(kind) {
    const element = line();
    if (!element) return;
    const text = element.dataset[kind];
    element.hidden = !text;
    element.querySelector("[data-network-words]").textContent = text || "";
    element.querySelector("[data-network-again]").hidden = kind !== "kept";
    if (text) foretell.say(text);
  }

  function put(form) {
    const fields = [...new FormData(form)].filter(([name]) => name !== "csrfmiddlewaretoken");
    const entry = { task: form.dataset.task, stage: form.dataset.stage, url: form.action, fields, at: Date.now() };
    const others = box().filter((one) => one.task !== entry.task || one.stage !== entry.stage);
    return foretell.keep.set(BOX, [...others, entry]);
  }

  function take(entry) {
    const rest = box().filter((one) => one.task !== entry.task || one.stage !== entry.stage);
    foretell.keep.set(BOX, rest.length ? rest : null);
  }

  function later() {
    clearTimeout(waiting);
    waiting = setTimeout(flush, WAITS[Math.min(tries, WAITS.length - 1)] * 1000);
    tries += 1;
  }

  function mark(entry) {
    foretell.keep.set(
      BOX,
      box().map((one) => (one.task === entry.task && one.stage === entry.stage ? { ...one, sent: true } : one)),
    );
  }

  /* Sent, but the server redirected (to the next task, or to the log-in page because the session had expired). If the same
     stage is open again, fill in the answer; if not, the server has it. */
  function settle() {
    const here = foretell.form();
    for (const entry of box().filter((one) => one.sent)) {
      if (here && here.dataset.task === entry.task && here.dataset.stage === entry.stage) {
        const answers = {};
        for (const [name, value] of entry.fields) (answers[name] ||= []).push(value);
        for (const text of here.querySelectorAll("textarea")) answers[text.name] = answers[text.name]?.[0] ?? "";
        foretell.fill(here, answers);
      }
      take(entry);
    }
  }

  /* People who go back to their panel may not return here: an answer that only this device has must be sent before. */
  function holdReturn() {
    const waiting = box().length > 0;
    for (const element of document.querySelectorAll("[data-return]")) element.hidden = waiting;
    for (const element of document.querySelectorAll("[data-unsent]")) element.hidden = !waiting;
  }

  /* Send the waiting answers, oldest first. Retry when there is no response, a 5xx or a 429; any other response is final. */
  async function flush() {
    if (busy || !box().some((entry) => !entry.sent)) return;
    busy = true;
    clearTimeout(waiting);
    const here = foretell.form();
    let answered = false;
    try {
      for (const entry of box().filter((one) => !one.sent)) {
        answered ||= here?.dataset.task === entry.task && here.dataset.stage === entry.stage;
        const data = new URLSearchParams(entry.fields);
        const reply = await foretell.post(entry.url, data, { redirect: "manual" });
        if (reply.status >= 500 || reply.status === 429) throw new Error(String(reply.status));
        if (reply.type === "opaqueredirect" || reply.status === 401 || reply.status === 403) mark(entry);
        else take(entry);
        foretell.keep.set(`foretell.draft.${entry.task}.${entry.stage}`, null);
      }
      tries = 0;
      tell("sent");
      /* Don't show the submitted step again. */
      if (!here || answered || here.hasAttribute("data-waiting")) location.reload();
      else setTimeout(() => tell(""), 4000);
    } catch {
      tell("kept");
      later();
    } finally {
      busy = false;
    }
  }

  function kept(form) {
    const stored = put(form);
    form.toggleAttribute("data-waiting", stored);
    if (stored) foretell.waiting(form);
    else foretell.sending(form, false);
    tell(stored ? "kept" : "lost");
    if (stored) later();
  }

  /* htmx reports no connection, a timeout or a server error. */
  for (const name of ["htmx:sendError", "htmx:timeout"]) {
    document.addEventListener(name, (event) => {
      const form = event.detail.elt;
      if (form.matches?.("form[data-task]")) kept(form);
    });
  }
  document.addEventListener("htmx:responseError", (event) => {
    const form = event.detail.elt;
    if (!form.matches?.("form[data-task]")) return;
    if (event.detail.xhr.status >= 500 || event.detail.xhr.status === 429) kept(form);
    else foretell.sending(form, false);
  });
  document.addEventListener("htmx:beforeSwap", (event) => {
    const form = event.detail.requestConfig?.elt;
    if (form?.matches?.("form[data-task]") && event.detail.shouldSwap) {
      take({ task: form.dataset.task, stage: form.dataset.stage });
      foretell.forgetDraft?.(form);
    }
  });

  addEventListener("online", () => (box().length ? flush() : tell("")));
  addEventListener("offline", () => tell(box().length ? "kept" : "away"));
  document.addEventListener("click", (event) => {
    if (event.target.closest?.("[data-network-again]")) flush();
  });
  document.addEventListener("DOMContentLoaded", () => {
    settle();
    holdReturn();
    if (box().length) flush();
    else if (!navigator.onLine) tell("away");
  });
})();
