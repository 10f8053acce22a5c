"use strict";
// Sorts tables, copies LaTeX, and opens folded parts. Without it the page is whole, and its files are there.

const SIGNS = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

/** Compares two cells by their numbers, or by their texts; what has no value comes last in either direction. */
function order(a, b, numeric, direction) {
  const [x, y] = [a, b].map((cell) => (numeric ? cell.dataset.value : cell.textContent.trim()) ?? "");
  if (!x || !y) return Number(!x) - Number(!y);
  return direction * (numeric ? Number(x) - Number(y) : SIGNS.compare(x, y));
}

/** Sorts each group of a table's rows by a column; sums stay below. Upwards, downwards, then as it was. */
function sort(table, heading, column, before) {
  const now = heading.getAttribute("aria-sort");
  table.querySelectorAll("th[aria-sort]").forEach((one) => one.removeAttribute("aria-sort"));
  const next = { null: "ascending", ascending: "descending" }[now];
  if (next) heading.setAttribute("aria-sort", next);
  const numeric = heading.classList.contains("num");
  for (const [body, rows] of before) {
    const sums = rows.filter((row) => row.classList.contains("total"));
    const others = rows.filter((row) => !sums.includes(row));
    const direction = next === "descending" ? -1 : 1;
    if (next) others.sort((a, b) => order(a.cells[column], b.cells[column], numeric, direction));
    body.append(...(next ? [...others, ...sums] : rows));
  }
}

for (const table of document.querySelectorAll(".table table")) {
  const before = [...table.tBodies].map((body) => [body, [...body.rows]]);
  if (!before.some(([, rows]) => rows.length > 1)) continue;
  [...table.tHead.rows[table.tHead.rows.length - 1].cells].forEach((heading, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...heading.childNodes);
    heading.append(button);
    button.addEventListener("click", () => sort(table, heading, column, before));
  });
}

/** Puts a text on the clipboard, also where a browser lets only a selected text be copied. */
async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = Object.assign(document.createElement("textarea"), { value: text });
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}

for (const button of document.querySelectorAll("button.copy")) {
  const label = button.textContent;
  button.hidden = false;
  button.addEventListener("click", async () => {
    const done = await copy(button.parentElement.querySelector("template").content.textContent);
    button.textContent = done ? "Copied" : "Not copied: use the file";
    document.getElementById("said").textContent = button.textContent;
    button.focus();
    setTimeout(() => { button.textContent = label; }, 3000);
  });
}

// Of the tables of a choice it shows one, whichever is chosen, linked or found.
for (const fold of document.querySelectorAll(".choice")) {
  const tables = [...fold.querySelectorAll(".table")];
  const select = document.createElement("select");
  select.setAttribute("aria-label", "Table");
  select.append(...tables.map((table) => new Option(table.getAttribute("aria-label"), table.id)));
  fold.querySelector("summary").after(select);
  const choose = (name) => {
    select.value = name;
    tables.forEach((table) => { table.hidden = table.id === name ? false : "until-found"; });
  };
  select.addEventListener("change", () => choose(select.value));
  tables.forEach((table) => table.addEventListener("beforematch", () => { fold.open = true; choose(table.id); }));
  choose(select.value);
}

/** Opens what a link leads to, and all that it is folded in. */
function reveal() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let one = target; one; one = one.parentElement) {
    if (one.hidden) one.dispatchEvent(new Event("beforematch"));
    if (one.tagName === "DETAILS") one.open = true;
  }
  target?.scrollIntoView();
}
addEventListener("hashchange", reveal);
if (location.hash) reveal();
