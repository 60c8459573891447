"use strict";
// Sorts the bodies of a table by the column whose head is pressed; a second press turns the order round.
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[table.tHead.rows.length - 1].cells];
  const valueOf = (row, at) => {
    const cell = row.cells[at];
    return cell.dataset.value === undefined ? cell.textContent : Number(cell.dataset.value);
  };
  heads.forEach((head, at) => {
    head.querySelector("button").addEventListener("click", () => {
      const upwards = head.getAttribute("aria-sort") !== "ascending";
      const compare = (one, other) => {
        const [a, b] = [valueOf(one, at), valueOf(other, at)];
        if (a === "" || b === "") return (a === "") - (b === ""); // what is not known stands last
        const order = typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b));
        return upwards ? order : -order;
      };
      for (const body of table.tBodies) {
        body.append(...[...body.rows].filter((row) => row.className !== "title").sort(compare));
      }
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", upwards ? "ascending" : "descending");
    });
  });
}
document.getElementById("theme").addEventListener("click", () => {
  const root = document.documentElement;
  const dark = root.dataset.theme
    ? root.dataset.theme === "dark"
    : window.matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
});
