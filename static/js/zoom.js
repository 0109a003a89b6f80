/* An image of the material opens in full over the page; + and - change its size, Esc closes it. Without scripts its link opens it. */
(() => {
  "use strict";
  const { foretell } = window;

  function open(link) {
    const small = link.querySelector("img");
    const dialog = document.createElement("dialog");
    dialog.className = "zoom";
    dialog.setAttribute("aria-label", small.alt);
    const close = document.createElement("button");
    close.type = "button";
    close.className = "button zoom__close";
    close.textContent = link.dataset.close;
    const image = document.createElement("img");
    image.className = "zoom__image";
    image.src = link.href;
    image.alt = small.alt;
    dialog.append(close, image);
    document.body.append(dialog);
    const full = (on) => dialog.toggleAttribute("data-full", on);
    close.addEventListener("click", () => dialog.close());
    image.addEventListener("click", () => full(!dialog.hasAttribute("data-full")));
    dialog.addEventListener("keydown", (event) => {
      if (event.key === "+" || event.key === "=") full(true);
      else if (event.key === "-") full(false);
      else if (event.key.toLowerCase() === "z") dialog.close();
    });
    dialog.addEventListener("close", () => dialog.remove());
    link.focus({ preventScroll: true }); // and again on close
    dialog.showModal();
  }

  foretell.on("[data-zoom]", (link) => {
    link.addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      open(link);
    });
  });

  /* Z: the image that the current question is about, or the first one. */
  foretell.zoom = (form) => {
    const names = form.querySelector("[data-current]")?.dataset.about?.split(" ") ?? [];
    const about = names.map((name) => form.querySelector(`[data-block="${CSS.escape(name)}"] [data-zoom]`)).find(Boolean);
    const link = about ?? form.querySelector("[data-zoom]");
    if (link) open(link);
  };
})();
