// Loads the page anew when `attn compute --watch` has written it again. A page that was opened from
// a disk may not read itself, but it may run the script beside it, which tells when that was.
(function look(first) {
  const root = document.documentElement, script = document.createElement("script");
  const again = (event) => {
    script.remove();
    history.replaceState({ y: scrollY }, "");
    const written = root.dataset.written;
    if (first && written !== first) location.reload();
    else setTimeout(look, event.type === "load" ? 500 : 2000, written);
  };
  script.src = `.${location.pathname.split("/").pop()}.js?${Date.now()}`;
  script.onload = script.onerror = again;
  document.head.append(script);
})();
// The browser would scroll back before the page has its final height.
history.scrollRestoration = "manual";
if (history.state) scrollTo(0, history.state.y);
