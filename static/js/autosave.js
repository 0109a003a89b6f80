/* Saves a draft of the answers on every change. Each draft carries the version it is based on. If another tab saved first,
   nothing is overwritten: the person chooses which answer to keep. */
(() => {
  "use strict";
  const { foretell } = window;
  const DELAY = 700;

  const state = (form, text) => {
    const line = form.querySelector("[data-save-state]");
    if (line) line.textContent = text;
  };
  const words = (form) => form.querySelector("[data-save-state]")?.dataset || {};
  const key = (form) => `foretell.draft.${form.dataset.task}.${form.dataset.stage}`;

  function body(form) {
    const data = new FormData(form);
    data.delete("signals");
    return new URLSearchParams(data);
  }

  /* The answers without tokens and versions, to keep on this device while offline. */
  function answers(form) {
    const kept = {};
    for (const input of form.querySelectorAll("[data-asked] :is(input, textarea)[name]")) {
      if (input.type === "radio" || input.type === "checkbox") {
        kept[input.name] ||= [];
        if (input.checked) kept[input.name].push(input.value);
      } else {
        kept[input.name] = input.value;
      }
    }
    return kept;
  }

  function fill(form, response) {
    for (const input of form.querySelectorAll("[data-asked] :is(input, textarea)[name]")) {
      const value = response[input.name];
      if (input.type === "radio" || input.type === "checkbox") {
        input.checked = [].concat(value ?? []).includes(input.value);
      } else {
        input.value = value ?? "";
      }
    }
    foretell.refresh(form);
  }

  function conflict(form, theirs) {
    const notice = document.querySelector("[data-conflict]");
    if (!notice) return;
    form.foretellConflict = theirs;
    state(form, "");
    notice.hidden = false;
    foretell.say(notice.querySelector("[data-conflict-words]").textContent);
  }

  async function save(form) {
    if (!form.isConnected || form.hasAttribute("data-sending") || form.foretellConflict) return;
    if (form.foretellSaving) {
      form.foretellAgain = true;
      return;
    }
    form.foretellSaving = true;
    form.foretellDirty = false;
    foretell.keep.set(key(form), { version: form.elements.draft_version.value, answers: answers(form) });
    try {
      const reply = await foretell.post(form.dataset.draftUrl, body(form));
      if (reply.ok) {
        const { version } = await reply.json();
        form.elements.draft_version.value = version;
        foretell.keep.set(key(form), null);
        state(form, words(form).kept);
      } else if (reply.status === 409) {
        const theirs = await reply.json().catch(() => ({}));
        if (theirs.closed) location.reload();
        else conflict(form, theirs);
      } else {
        state(form, words(form).failed);
      }
    } catch {
      state(form, words(form).here);
    } finally {
      form.foretellSaving = false;
      if (form.foretellAgain) {
        form.foretellAgain = false;
        save(form);
      }
    }
  }

  foretell.fill = fill;
  foretell.forgetDraft = (form) => foretell.keep.set(key(form), null);

  foretell.on("form[data-draft-url]", (form) => {
    let waiting = 0;
    const later = () => {
      form.foretellDirty = true;
      clearTimeout(waiting);
      waiting = setTimeout(() => save(form), DELAY);
    };
    form.addEventListener("input", later);
    form.addEventListener("change", later);
    form.addEventListener("foretell:sending", () => clearTimeout(waiting));

    /* Saved on this device while offline, and based on the version that the server still has. */
    const kept = foretell.keep.get(key(form));
    if (kept && kept.version === form.elements.draft_version.value) {
      fill(form, kept.answers);
      save(form);
    } else if (kept) {
      foretell.keep.set(key(form), null);
    }
  });

  /* The server has no draft of an exam or of practice: answers are kept here until the result page deletes them. */
  foretell.on("form[data-keep]", (form) => {
    const name = `foretell.keep.${form.dataset.keep}`;
    const kept = foretell.keep.get(name);
    if (kept && !form.querySelector("[data-asked] :checked")) fill(form, kept);
    for (const sign of ["change", "input"]) {
      form.addEventListener(sign, () => state(form, (foretell.keep.set(name, answers(form)) && words(form).here) || ""));
    }
  });
  /* Who has a task has answered the questions that come before it. */
  foretell.on("form[data-draft-url]", () => {
    const before = foretell.keep.names("foretell.keep.questionnaire.").filter((name) => name.endsWith(".before"));
    for (const name of before) foretell.keep.set(name, null);
  });
  foretell.on("[data-forget]", (mark) => foretell.keep.set(`foretell.keep.${mark.dataset.forget}`, null));

  document.addEventListener("click", (event) => {
    const choice = event.target.closest?.("[data-conflict-keep]");
    const form = foretell.form();
    if (!choice || !form?.foretellConflict) return;
    const { version, response } = form.foretellConflict;
    form.foretellConflict = null;
    document.querySelector("[data-conflict]").hidden = true;
    if (version === undefined) {
      location.reload();
      return;
    }
    form.elements.draft_version.value = version;
    if (choice.dataset.conflictKeep === "theirs") fill(form, response || {});
    else save(form);
    form.querySelector(":checked, input, textarea")?.focus();
  });

  /* Save unsaved changes when the page is closed. They are also kept on this device, because a page that is opened at once,
     such as after a reload, may be made before the server has them. */
  addEventListener("pagehide", () => {
    const form = foretell.form();
    if (form?.foretellDirty && form.dataset.draftUrl && !form.foretellConflict && !form.hasAttribute("data-sending")) {
      foretell.keep.set(key(form), { version: form.elements.draft_version.value, answers: answers(form) });
      foretell.post(form.dataset.draftUrl, body(form), { keepalive: true }).catch(() => {});
    }
  });
})();
