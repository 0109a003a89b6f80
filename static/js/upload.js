/* Sends a large file in pieces, so that a proxy's limit on bodies doesn't matter; a piece without a reply is sent again. */
(() => {
  "use strict";
  const TRIES = 8;
  const wait = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

  class Refused extends Error {}

  const once = async (url, token, body) => {
    const headers = { "X-CSRFToken": token, "Content-Type": "application/octet-stream" };
    const reply = await fetch(url, { method: "POST", body, headers });
    const said = await reply.json().catch(() => ({}));
    if (reply.ok) return said;
    const problem = said.error || `The server replied with ${reply.status}.`;
    throw reply.status < 500 ? new Refused(problem) : new Error(problem);
  };

  const send = async (url, token, body) => {
    for (let tried = 1; ; tried += 1) {
      try {
        return await once(url, token, body);
      } catch (error) {
        if (error instanceof Refused || tried === TRIES) throw error;
        await wait(500 * 2 ** tried);
      }
    }
  };

  const upload = async (form, file, state) => {
    const token = form.querySelector("[name=csrfmiddlewaretoken]").value;
    const step = (values) => `${form.dataset.pieces}?${new URLSearchParams(values)}`;
    const size = Number(form.dataset.pieceBytes);
    const { ticket } = await send(step({ name: file.name }), token);
    for (let offset = 0; offset < file.size; offset += size) {
      state.textContent = `Uploading: ${Math.floor((100 * offset) / file.size)}%`;
      await send(step({ ticket, offset }), token, file.slice(offset, offset + size));
    }
    state.textContent = "Reading the columns…";
    const { next } = await send(step({ ticket, size: file.size, to: form.dataset.to }), token);
    location.assign(next);
  };

  for (const form of document.querySelectorAll("form[data-pieces]")) {
    form.addEventListener("submit", async (event) => {
      const file = form.querySelector("input[type=file]").files[0];
      if (!file || file.size <= Number(form.dataset.pieceBytes)) return;
      event.preventDefault();
      const button = form.querySelector("button");
      const state = form.querySelector("[data-state]");
      button.disabled = true;
      try {
        await upload(form, file, state);
      } catch (error) {
        state.textContent = `${error.message} Try again.`;
        button.disabled = false;
      }
    });
  }
})();
