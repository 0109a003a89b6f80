/* Passkeys: buttons with data-passkey appear where the browser has them, and what fails is said beside the button. */
(() => {
  "use strict";
  const buttons = [...document.querySelectorAll("[data-passkey]")];
  if (window.PublicKeyCredential) for (const button of buttons) button.hidden = false;

  document.addEventListener("allauth.error", (event) => {
    event.preventDefault();
    for (const button of buttons) {
      const note = document.getElementById(button.getAttribute("aria-describedby"));
      if (note) note.textContent = button.dataset.passkey;
    }
  });
})();
