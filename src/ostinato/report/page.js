// Tooltips of the charts for pointer, touch and keyboard. Without this script, browsers show the titles of the points.
"use strict";
const tip = document.body.appendChild(document.createElement("div"));
tip.className = "tip";
tip.setAttribute("role", "status");
for (const chart of document.querySelectorAll("svg.chart")) {
  const points = [...chart.querySelectorAll(".hit")];
  if (points.length === 0) continue;
  const words = points.map((point) => {
    const title = point.querySelector("title");
    title.remove();
    return title.textContent;
  });
  let shown = -1;
  const hide = () => {
    points[shown]?.classList.remove("shown");
    tip.textContent = "";
    shown = -1;
  };
  const show = (row) => {
    hide();
    shown = Math.max(0, Math.min(row, points.length - 1));
    points[shown].classList.add("shown");
    tip.textContent = words[shown];
    const point = points[shown].getBoundingClientRect();
    const middle = (point.left + point.right - tip.offsetWidth) / 2;
    const left = Math.max(8, Math.min(middle, document.documentElement.clientWidth - tip.offsetWidth - 8));
    tip.style.left = `${left + scrollX}px`;
    tip.style.top = `${point.top - tip.offsetHeight - 6 + scrollY}px`;
  };
  const nearest = (event) => {
    const distance = (point) => {
      const box = point.getBoundingClientRect();
      return Math.abs((box.left + box.right) / 2 - event.clientX);
    };
    return points.reduce((best, point, row) => (distance(point) < distance(points[best]) ? row : best), 0);
  };
  const moves = { ArrowLeft: () => shown - 1, ArrowRight: () => shown + 1, Home: () => 0, End: () => points.length - 1 };
  chart.setAttribute("tabindex", "0");
  chart.addEventListener("pointerdown", (event) => show(nearest(event)));
  chart.addEventListener("pointermove", (event) => show(nearest(event)));
  chart.addEventListener("pointerleave", (event) => event.pointerType === "mouse" && hide());
  chart.addEventListener("focus", () => shown < 0 && show(0));
  chart.addEventListener("blur", hide);
  chart.addEventListener("keydown", (event) => {
    if (event.key === "Escape") hide();
    if (!(event.key in moves)) return;
    event.preventDefault();
    show(moves[event.key]());
  });
}
