/* Records how an answer was made: time on the page, time away, pastes. Sent with the answer as `signals`; the names, units and
   meanings are declared in annotator/core/behaviour.py. Typed or pasted text is never recorded, only its length. */
(() => {
  "use strict";
  const { foretell } = window;
  let now = null;

  const since = (moment) => Math.round(performance.now() - moment);

  function fresh() {
    return {
      start: performance.now(),
      hiddenAt: document.hidden ? performance.now() : null,
      signals: {
        page_ms: 0,
        hidden_ms: 0,
        left: 0,
        first_ms: null,
        changes: 0,
        keys: 0,
        pastes: 0,
        pasted: 0,
        drawer: 0,
      },
    };
  }

  function answered() {
    now.signals.first_ms ??= since(now.start);
  }

  foretell.on("form[data-task]", (form) => {
    now = fresh();
    form.addEventListener("input", answered);
    form.addEventListener("change", () => {
      now.signals.changes += 1;
      answered();
    });
    form.addEventListener("paste", (event) => {
      now.signals.pastes += 1;
      now.signals.pasted += event.clipboardData?.getData("text").length || 0;
    });
    form.addEventListener("foretell:sending", () => {
      if (!form.elements.signals) return;
      const { signals } = now;
      signals.page_ms = since(now.start);
      form.elements.signals.value = JSON.stringify(signals);
    });
  });

  document.addEventListener("visibilitychange", () => {
    if (!now) return;
    if (document.hidden) {
      now.hiddenAt = performance.now();
      now.signals.left += 1;
    } else if (now.hiddenAt !== null) {
      now.signals.hidden_ms += since(now.hiddenAt);
      now.hiddenAt = null;
    }
  });
  document.addEventListener("foretell:key", () => {
    if (now) now.signals.keys += 1;
  });
  document.addEventListener("click", (event) => {
    if (now && event.target.closest?.("[data-drawer-toggle]")) now.signals.drawer += 1;
  });
})();
