"use strict";
/* A page of an evaluation follows the ledger: told that something changed, it puts the new page in its place. */
(() => {
  const main = document.querySelector("main[data-events]");
  if (!main || !window.EventSource) return;
  const source = new EventSource(main.dataset.events);
  let busy = false, again = false;
  const renew = async () => {
    if (busy) { again = true; return; }
    busy = true;
    try {
      const reply = await fetch(location.href, { headers: { Accept: "text/html" } });
      if (reply.ok) {
        const fresh = new DOMParser().parseFromString(await reply.text(), "text/html");
        const next = fresh.querySelector("main");
        if (next && next.outerHTML !== document.querySelector("main").outerHTML) {
          document.querySelector("main").replaceWith(next);
          document.title = fresh.title;
          if (!next.dataset.events) source.close();
        }
      }
    } finally {
      busy = false;
      if (again) { again = false; renew(); }
    }
  };
  source.addEventListener("open", renew);   // what changed before it was watched, or while it was not
  source.addEventListener("changed", renew);
  source.addEventListener("finished", () => { source.close(); renew(); });
})();
