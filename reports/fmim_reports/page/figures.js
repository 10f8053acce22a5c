// Figures: says what a mark shows, and hides the arms that a reader switches off, in all figures of the page.
// Without it the figures are whole, and the browser itself shows the title of a mark.

const tip = Object.assign(document.createElement("div"), { className: "tip", hidden: true });
document.body.append(tip);
for (const mark of document.querySelectorAll(".hits > *")) {
  mark.dataset.says = mark.textContent;
  mark.replaceChildren(); // the browser would show the title beside ours
}

/** Shows what a mark says, beside it or where the pointer is; or nothing. */
function point(mark, x, y) {
  document.querySelector(".hits > .on")?.classList.remove("on");
  tip.hidden = !mark;
  if (!mark) return;
  mark.classList.add("on");
  tip.textContent = mark.dataset.says;
  const box = mark.getBoundingClientRect();
  const left = x ?? box.x + box.width / 2, top = y ?? box.y;
  tip.style.left = `${Math.max(8, Math.min(left + 12, innerWidth - tip.offsetWidth - 8))}px`;
  tip.style.top = `${top - tip.offsetHeight - 10 < 0 ? top + 18 : top - tip.offsetHeight - 10}px`;
}

/** Returns the mark under the pointer whose middle is nearest; lines come after points. */
function markAt({ clientX, clientY }) {
  const away = (mark) => {
    const box = mark.getBoundingClientRect();
    return mark.tagName === "polyline" ? 1e6 : Math.hypot(box.x + box.width / 2 - clientX, box.y + box.height / 2 - clientY);
  };
  const under = document.elementsFromPoint(clientX, clientY).filter((one) => one.parentElement?.matches(".hits"));
  return under.sort((a, b) => away(a) - away(b))[0];
}

const off = new Set();
const switches = new Map();

/** Shows or hides arms everywhere. */
function set(arms, shown) {
  for (const arm of arms) {
    if (shown) off.delete(arm);
    else off.add(arm);
    switches.get(arm).checked = shown;
  }
  point(null);
  for (const one of document.querySelectorAll("svg [data-arm]")) one.classList.toggle("off", off.has(one.dataset.arm));
  for (const key of document.querySelectorAll("svg .key")) {
    key.classList.toggle("faint", key.dataset.arms.split("+").every((arm) => off.has(arm)));
  }
}

for (const svg of document.querySelectorAll("figure.chart svg:has(.hits)")) {
  const over = (event) => point(markAt(event), event.clientX, event.clientY);
  svg.addEventListener("pointermove", over);
  svg.addEventListener("click", (event) => {
    const arms = event.target.dataset.arms?.split("+");
    if (arms) set(arms, arms.every((arm) => off.has(arm)));
    else over(event);
  });
  svg.addEventListener("pointerleave", (event) => event.pointerType === "mouse" && point(null));
  svg.addEventListener("blur", () => point(null));
  svg.tabIndex = 0;
  svg.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const marks = [...svg.querySelectorAll(".hits:not(.off) > *")];
    if (!step || !marks.length) return;
    event.preventDefault();
    const now = marks.findIndex((mark) => mark.matches(".on"));
    const next = marks[now < 0 && step < 0 ? marks.length - 1 : (now + step + marks.length) % marks.length];
    point(next);
    document.getElementById("said").textContent = next.dataset.says;
  });
}
addEventListener("keydown", ({ key }) => key === "Escape" && point(null));
addEventListener("scroll", () => point(null), { passive: true });

const choice = document.createElement("fieldset");
for (const { dataset } of document.querySelectorAll(".hits")) {
  if (!dataset.arm || switches.has(dataset.arm)) continue;
  const label = document.createElement("label"), box = document.createElement("input"), colour = document.createElement("i");
  Object.assign(box, { type: "checkbox", checked: true });
  box.addEventListener("change", () => set([dataset.arm], box.checked));
  colour.style.background = dataset.colour;
  label.append(box, colour, dataset.label);
  switches.set(dataset.arm, box);
  choice.append(label);
}
if (switches.size > 1) {
  const fold = Object.assign(document.createElement("details"), { className: "arms" });
  fold.innerHTML = "<summary>Choose the arms that the figures show</summary>";
  choice.insertAdjacentHTML("afterbegin", "<legend>Point at a mark, or press an arrow key in a figure, to read its values.</legend>");
  fold.append(choice);
  document.querySelector(".charts:has(.hits)").before(fold);
}
