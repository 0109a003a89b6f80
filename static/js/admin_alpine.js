/* What Unfold's templates use of Alpine, for Alpine's CSP build: its expressions reach only data that are registered here, never
   globals such as `window` or a function of Unfold's app.js. */
document.addEventListener("alpine:init", () => {
  "use strict";
  const SIDEBAR = "sidebarDesktopOpen";

  Alpine.data("theme", (chosen) => theme(chosen));
  Alpine.data("searchForm", searchForm);
  Alpine.data("searchDropdown", searchDropdown);
  Alpine.data("searchCommand", searchCommand);

  /* The body: the open tab, the sidebar, and the functions that expressions inside it call. */
  Alpine.data("page", (tab) => ({
    activeTab: (tab && getCurrentTab()) || tab,
    sidebarMobileOpen: false,
    sidebarDesktopOpen: localStorage.getItem(SIDEBAR) !== "0",
    init() {
      this.$watch(SIDEBAR, (open) => localStorage.setItem(SIDEBAR, open ? "1" : "0"));
    },
    /* A form is sent to its own address and open tab: what `window` means in that expression. */
    window: { location: { pathname: location.pathname, search: location.search } },
    moveRecords: (event) => moveRecords(event),
    sortRecords: (event) => sortRecords(event),
  }));
});
