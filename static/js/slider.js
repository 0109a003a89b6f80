/* A number between two ends gets a slider above its box. Before it is moved, nothing is answered; the box has the answer. */
(() => {
  "use strict";
  const { foretell } = window;

  foretell.on("textarea[data-slider]", (box) => {
    const [least, most, step] = box.dataset.slider.split(" ");
    const range = document.createElement("input");
    Object.assign(range, { type: "range", min: least, max: most, step, className: "slider__range" });
    range.setAttribute("aria-label", box.getAttribute("aria-label"));
    const ends = document.createElement("div");
    ends.className = "slider__ends";
    for (const text of [box.dataset.low, box.dataset.high]) {
      const end = document.createElement("span");
      end.dir = "auto";
      end.textContent = text;
      ends.append(end);
    }
    const slider = document.createElement("div");
    slider.className = "slider";
    slider.append(range, ends);
    box.before(slider);

    const read = () => {
      const answered = /^-?[0-9]+$/.test(box.value.trim());
      slider.toggleAttribute("data-empty", !answered);
      if (answered && document.activeElement !== range) range.value = box.value.trim();
      range.setAttribute("aria-valuetext", answered ? box.value.trim() : "–");
    };
    const write = () => {
      if (box.value === range.value) return;
      box.value = range.value;
      box.dispatchEvent(new Event("input", { bubbles: true }));
    };
    range.addEventListener("input", (event) => {
      event.stopPropagation();
      write();
    });
    range.addEventListener("click", write); /* the middle, where it stands already */
    range.addEventListener("keydown", ({ key }) => {
      if (key === " ") write();
    });
    box.form?.addEventListener("foretell:state", read);
    read();
  });
})();
