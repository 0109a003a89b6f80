{% load static %}/* Shows a stored page when a page can't be fetched. It stores no page of any user, and never answers a request that the
   network can answer. Forms that are posted don't pass through it at all: static/js/forms.js looks after them.

   There is one worker for all languages; each page tells it its own. A new version waits until the last page is closed,
   because a worker that takes over from another can hold back the request of an open page. */
"use strict";

const NAME = "foretell-offline-{% static "css/app.css" %}";
const LANGUAGE = "foretell-language";
const PAGES = { {% for code in languages %}
  {{ code }}: { offline: "{% url "annotator:offline" name="offline" %}?language={{ code }}", away: "{% url "annotator:offline" name="away" %}?language={{ code }}" },{% endfor %}
};
const FILES = ["{% static "css/app.css" %}", "{% static "vendor/foretell-serif/foretell-serif.woff2" %}"];

self.addEventListener("install", (event) => {
  const pages = Object.values(PAGES).flatMap(Object.values);
  event.waitUntil(caches.open(NAME).then((cache) => cache.addAll([...pages, ...FILES])));
  /* Browsers that can leave posts out of the worker needn't start it for them. */
  event.addRoutes?.([{ condition: { requestMethod: "post" }, source: "network" }])?.catch(() => {});
});

self.addEventListener("activate", (event) => {
  event.waitUntil(
    caches.keys().then((names) =>
      Promise.all(names.filter((name) => name.startsWith("foretell-offline-") && name !== NAME).map((name) => caches.delete(name))),
    ),
  );
});

self.addEventListener("message", (event) => {
  const { language } = event.data ?? {};
  if (language in PAGES) {
    event.waitUntil(caches.open(LANGUAGE).then((cache) => cache.put("/", new Response(language))));
  }
});

async function stored(kind) {
  const said = await (await caches.open(LANGUAGE)).match("/");
  const pages = PAGES[said ? await said.text() : ""] ?? PAGES["{{ default }}"];
  return (await caches.open(NAME)).match(pages[kind]);
}

async function open(request) {
  try {
    const answer = await fetch(request);
    return answer.status >= 500 && answer.status <= 504 ? (await stored("away")) || answer : answer;
  } catch (error) {
    const kept = await stored(self.navigator.onLine ? "away" : "offline");
    if (kept) return kept;
    throw error;
  }
}

self.addEventListener("fetch", (event) => {
  const { request } = event;
  if (request.method !== "GET") return;
  if (request.mode === "navigate") event.respondWith(open(request));
  else if (FILES.includes(new URL(request.url).pathname)) {
    event.respondWith(fetch(request).catch(() => caches.match(request)));
  }
});
