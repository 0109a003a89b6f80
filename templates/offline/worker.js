{% load static %}/* Shows a stored page when a page can't be fetched. It stores no page of any user, and never answers a request that the
   network can answer. There is one for each language: a page in another language registers its own. */
"use strict";

const NAME = "foretell-offline-{{ language }}-{% static "css/app.css" %}";
const OFFLINE = "{% url "annotator:offline" name="offline" %}?language={{ language }}";
const AWAY = "{% url "annotator:offline" name="away" %}?language={{ language }}";
const KEPT = [OFFLINE, AWAY, "{% static "css/app.css" %}", "{% static "vendor/foretell-serif/foretell-serif.woff2" %}"];

self.addEventListener("install", (event) => {
  event.waitUntil(caches.open(NAME).then((cache) => cache.addAll(KEPT)));
  self.skipWaiting();
});

self.addEventListener("activate", (event) => {
  event.waitUntil(
    caches.keys().then((names) =>
      Promise.all(names.filter((name) => name.startsWith("foretell-offline-") && name !== NAME).map((name) => caches.delete(name))),
    ),
  );
});

async function open(request) {
  try {
    const answer = await fetch(request);
    return answer.status >= 500 && answer.status <= 504 && request.method === "GET" ? (await caches.match(AWAY)) || answer : answer;
  } catch (error) {
    const kept = await caches.match(self.navigator.onLine ? AWAY : OFFLINE);
    if (kept) return kept;
    throw error;
  }
}

self.addEventListener("fetch", (event) => {
  const { request } = event;
  if (request.mode === "navigate") event.respondWith(open(request));
  else if (request.method === "GET" && KEPT.includes(new URL(request.url).pathname)) {
    event.respondWith(fetch(request).catch(() => caches.match(request)));
  }
});
