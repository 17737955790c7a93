// Tables that are wider than their place say that they scroll, and scroll by keyboard, too.

function markScrolling(region) {
  const scrolls = region.scrollWidth > region.clientWidth + 1;
  region.classList.toggle("scrolls", scrolls);
  if (scrolls) region.setAttribute("tabindex", "0");
  else region.removeAttribute("tabindex");
}

function markScrollingTables() {
  const watching = new ResizeObserver((entries) => entries.forEach((entry) => markScrolling(entry.target)));
  document.querySelectorAll(".scroll").forEach((region) => watching.observe(region));
}

markScrollingTables();
