"use strict";
const articles = [...document.querySelectorAll("article")];
const kind = document.getElementById("kind");
const place = document.getElementById("place");
let at = 0;
const chosen = () => articles.filter((one) => !kind.value || one.dataset.kind === kind.value);
function show(index, linked = true) {
  const list = chosen();
  at = list.length ? (index + list.length) % list.length : 0;
  for (const one of articles) one.classList.toggle("shown", one === list[at]);
  place.textContent = list.length ? `${at + 1} of ${list.length}` : "none";
  if (linked && list[at]) history.replaceState(null, "", `#${list[at].id}`);
}
kind.addEventListener("change", () => show(0));
document.getElementById("before").addEventListener("click", () => show(at - 1));
document.getElementById("after").addEventListener("click", () => show(at + 1));
document.addEventListener("keydown", (event) => {
  if (event.target.matches("select, input")) return;
  if (event.key === "ArrowLeft") show(at - 1);
  if (event.key === "ArrowRight") show(at + 1);
});
const named = articles.findIndex((one) => `#${one.id}` === location.hash);
show(Math.max(0, named), false);
