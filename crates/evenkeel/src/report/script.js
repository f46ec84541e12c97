"use strict";
(() => {
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const button = document.getElementById("theme");
  const isDark = () => root.dataset.theme ? root.dataset.theme === "dark" : dark.matches;
  const name = () => { button.textContent = isDark() ? "Light" : "Dark"; };
  button.hidden = false;
  button.addEventListener("click", () => { root.dataset.theme = isDark() ? "light" : "dark"; name(); });
  dark.addEventListener("change", name);
  name();

  // Folded parts are printed open.
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details.plan:not([open])")];
    opened.forEach(part => { part.open = true; });
  });
  addEventListener("afterprint", () => opened.forEach(part => { part.open = false; }));

  // Titles show late and small; the same text in a box of our own, at once.
  const tip = document.getElementById("tip");
  document.querySelectorAll("svg.chart > title").forEach(title => {
    const chart = title.parentNode;
    chart.setAttribute("aria-label", title.textContent);
    chart.setAttribute("aria-describedby", chart.querySelector("desc").id);
    chart.removeAttribute("aria-labelledby");
    title.remove();
  });
  document.querySelectorAll("g.point, td.point").forEach(point => {
    const title = point.querySelector("title") ?? point.getAttributeNode("title");
    if (!title) return;
    const [head, ...lines] = title.textContent.split("\n");
    title.remove ? title.remove() : point.removeAttribute("title");
    const show = () => {
      tip.replaceChildren(Object.assign(document.createElement("b"), { textContent: head }),
        ...lines.map(line => Object.assign(document.createElement("span"), { textContent: line })));
      tip.hidden = false;
      const at = point.getBoundingClientRect(), box = tip.getBoundingClientRect();
      const left = Math.min(Math.max(8, at.left + at.width / 2 - box.width / 2), innerWidth - box.width - 8);
      const top = at.top - box.height - 6;
      tip.style.left = `${left + scrollX}px`;
      tip.style.top = `${(top < 8 ? at.bottom + 6 : top) + scrollY}px`;
    };
    point.addEventListener("pointerenter", show);
    point.addEventListener("pointerleave", () => { tip.hidden = true; });
  });
})();
