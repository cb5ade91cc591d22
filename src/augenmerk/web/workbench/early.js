/*
 * Sets the colours before anything is painted, as they were last chosen. An ordinary script, for modules run
 * only when the page is already there.
 */
try {
  const theme = localStorage.getItem("augenmerk-theme");
  if (["light", "dark", "projector"].includes(theme)) document.documentElement.dataset.theme = theme;
} catch {
  // A browser may keep a page from remembering anything.
}
