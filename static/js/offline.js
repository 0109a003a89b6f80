/* Handles a lost connection. An answer that couldn't be sent is saved on this device and sent when the server responds
   again. The server recognises a repeated submit by its task and stage. A status line says what is happening.

   Each answer has an entry of its own, because tabs share the storage without a lock: a list that two of them write back
   would lose what the other has added. An entry is deleted only after the server has said what became of the answer, so a
   tab that is closed in the middle loses nothing; the next one sends it again. */
(() => {
  "use strict";
  const { foretell } = window;
  const BOX = "foretell.outbox.";
  const OLD = "foretell.outbox";
  const WAITS = [2, 5, 10, 20, 30];
  const TIMEOUT = 20000;
  const HUSH = 4000;
  const DAYS_KEPT = 30;
  const UNKNOWN = [401, 403, 404];
  let tries = 0;
  let waiting = 0;
  let busy = false;
  let closed = false;
  /* Answers that the server doesn't know as this person's: somebody else gave them on this device. */
  const others = new Set();

  const line = () => document.querySelector("[data-network]");
  const key = ({ task, stage }) => `${BOX}${task}.${stage}`;
  /* Not practice or an exam: their answers belong to no task. */
  const isTask = (form) => Boolean(form.dataset.task && form.dataset.stage);

  function box() {
    const oldest = Date.now() - DAYS_KEPT * 24 * 3600 * 1000;
    const entries = foretell.keep.names(BOX).map((name) => foretell.keep.get(name));
    for (const entry of entries) if (entry?.at < oldest) take(entry);
    return entries.filter((entry) => entry?.at >= oldest).sort((one, other) => one.at - other.at);
  }

  function tell(kind, reason = "") {
    const element = line();
    if (!element) return;
    const text = (element.dataset[kind] || "").replace("{reason}", reason);
    element.hidden = !text;
    element.querySelector("[data-network-words]").textContent = text;
    element.querySelector("[data-network-again]").hidden = kind !== "kept";
    const login = element.querySelector("[data-network-login]");
    login.hidden = kind !== "held";
    if (kind === "held") login.search = new URLSearchParams({ next: location.pathname });
    if (text) foretell.say(text);
  }

  /* Said on the next page, because this one is about to be reloaded. */
  const NEXT = "foretell.network";
  function reload(...words) {
    try {
      sessionStorage.setItem(NEXT, JSON.stringify(words));
    } catch {
      /* Without storage the next page says nothing. */
    }
    location.reload();
  }

  function retell() {
    try {
      const words = JSON.parse(sessionStorage.getItem(NEXT));
      sessionStorage.removeItem(NEXT);
      if (words) tell(...words);
      if (words?.[0] === "sent") setTimeout(hush, HUSH);
    } catch {
      /* As above. */
    }
  }

  const hush = () => box().length || tell("");

  function put(form) {
    const fields = [...new FormData(form)].filter(([name]) => name !== "csrfmiddlewaretoken");
    const { task, stage } = form.dataset;
    return foretell.keep.set(key({ task, stage }), { task, stage, url: form.action, fields, at: Date.now() });
  }

  const take = (entry) => foretell.keep.set(key(entry), null);

  function later() {
    clearTimeout(waiting);
    waiting = setTimeout(flush, WAITS[Math.min(tries, WAITS.length - 1)] * 1000);
    tries += 1;
  }

  /* While a form's answer waits to be sent, no other can be submitted. */
  function wait(form, on) {
    form.toggleAttribute("data-waiting", on);
    foretell.sending(form, on);
    if (on) foretell.waiting(form);
  }

  /* An answer from before this page was loaded: shown in its form. */
  function restore(form, entry) {
    const answers = {};
    for (const [name, value] of entry.fields) (answers[name] ||= []).push(value);
    for (const text of form.querySelectorAll("textarea")) answers[text.name] = answers[text.name]?.[0] ?? "";
    foretell.fill(form, answers);
    form.foretellRestored = true;
    wait(form, true);
  }

  /* People who go back to their panel may not return here: an answer that only this device has must be sent before. */
  function holdReturn() {
    const waiting = box().some((entry) => !others.has(key(entry)));
    for (const element of document.querySelectorAll("[data-return]")) element.hidden = waiting;
    for (const element of document.querySelectorAll("[data-unsent]")) element.hidden = !waiting;
  }

  /* What became of an answer: "sent", "refused" with the reason, "consent" if a new text must be read first, or "held"
     if the server doesn't know its owner. Rejects if it must be sent again: after no response, a 5xx or a 429. */
  async function send(entry) {
    const options = { redirect: "manual", signal: AbortSignal.timeout(TIMEOUT) };
    const reply = await foretell.post(entry.url, new URLSearchParams(entry.fields), options);
    const { status } = reply;
    if (status >= 500 || status === 429) throw new Error(String(status));
    if (status === 404) others.add(key(entry));
    if (UNKNOWN.includes(status)) return { kind: "held", status };
    const said = await reply.json().catch(() => ({}));
    take(entry);
    foretell.keep.set(`foretell.draft.${entry.task}.${entry.stage}`, null);
    if (said.stored !== false) return { kind: "sent" };
    return { kind: said.kind === "consent" ? "consent" : "refused", reason: said.message };
  }

  /* One tab at a time. In browsers without locks an answer may be sent twice, which the server recognises. */
  const alone = (work) => (navigator.locks ? navigator.locks.request("foretell.outbox", work) : work());

  /* Send the waiting answers, oldest first. */
  async function flush() {
    if (busy || closed || !box().length) return;
    busy = true;
    clearTimeout(waiting);
    const here = foretell.form();
    const mine = here && isTask(here) ? foretell.keep.get(key(here.dataset)) : null;
    let last = null;
    let own = null;
    try {
      await alone(async () => {
        for (const entry of box()) {
          if (closed) return;
          last = await send(entry);
          if (mine && key(entry) === key(mine)) own = last;
        }
      });
      tries = 0;
      holdReturn();
      finished(here, mine, own ?? last);
    } catch {
      if (closed) return;
      tell("kept");
      later();
    } finally {
      busy = false;
    }
  }

  /* Don't show the submitted step again. Without an outcome, another tab has sent the answer while this one waited. */
  function finished(here, mine, outcome) {
    if (closed || (!outcome && !mine)) return;
    const { kind, reason, status } = outcome ?? { kind: "" };
    if (kind === "held") {
      if (mine) held(here, status);
    } else if (mine || !here) {
      reload(kind, reason);
    } else {
      tell(kind, reason);
      if (kind === "sent") setTimeout(hush, HUSH);
    }
  }

  /* 403: the page's token is too old. A reload renews it and sends the answer again. */
  function held(form, status) {
    if (status === 403 && !form.foretellRestored) {
      location.reload();
      return;
    }
    wait(form, false);
    tell("held");
  }

  function kept(form) {
    /* The answers of practice stay in the form, and on this device (`data-keep`). */
    const stored = isTask(form) && put(form);
    if (stored) wait(form, true);
    else foretell.sending(form, false);
    tell(stored ? "kept" : isTask(form) ? "lost" : "unsent");
    if (stored) later();
  }

  /* htmx reports no connection, a timeout or a server error. */
  for (const name of ["htmx:sendError", "htmx:timeout"]) {
    document.addEventListener(name, (event) => {
      const form = event.detail.elt;
      if (form.matches?.("form[data-task]")) kept(form);
      else if (form.matches?.("form")) tell("unsent");
    });
  }
  document.addEventListener("htmx:responseError", (event) => {
    const { elt: form, xhr } = event.detail;
    if (!form.matches?.("form")) return;
    if (!form.matches("[data-task]")) {
      if (UNKNOWN.includes(xhr.status)) location.reload();
      else tell("unsent");
    } else if (xhr.status >= 500 || xhr.status === 429) kept(form);
    else if (!UNKNOWN.includes(xhr.status)) foretell.sending(form, false);
    else if (isTask(form) && put(form)) held(form, xhr.status);
    else location.reload();
  });
  document.addEventListener("htmx:beforeSwap", (event) => {
    const form = event.detail.requestConfig?.elt;
    if (form?.matches?.("form[data-task]") && event.detail.shouldSwap) {
      take(form.dataset);
      foretell.forgetDraft?.(form);
    }
  });

  addEventListener("online", () => (box().length ? flush() : tell("")));
  addEventListener("offline", () => tell(box().length ? "kept" : "away"));
  /* A page that is being closed begins nothing: nobody would read the reply. */
  addEventListener("pagehide", () => (closed = true));
  addEventListener("pageshow", (event) => {
    closed = false;
    if (event.persisted) flush();
  });
  document.addEventListener("click", (event) => {
    if (event.target.closest?.("[data-network-again]")) flush();
  });
  document.addEventListener("DOMContentLoaded", () => {
    retell();
    /* Earlier versions kept all answers in one list. */
    for (const entry of foretell.keep.get(OLD) || []) foretell.keep.set(key(entry), entry);
    foretell.keep.set(OLD, null);
    const here = foretell.form();
    const mine = here && isTask(here) && foretell.keep.get(key(here.dataset));
    if (mine) restore(here, mine);
    holdReturn();
    if (box().length) flush();
    else if (!navigator.onLine) tell("away");
  });
})();
