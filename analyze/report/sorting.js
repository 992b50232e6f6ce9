"use strict";
// Tables that are sorted by a click on a head. A cell's `data-key` is the number behind its text.
page.sorting = (() => {
  // Numbers in order, what has none last, texts as people sort them; equal rows keep their places.
  function compare(a, b, falling) {
    const sign = falling ? -1 : 1;
    if (typeof a === "number" && typeof b === "number") return sign * (a - b);
    if (typeof a === "number" || typeof b === "number") return typeof a === "number" ? -1 : 1;
    return sign * a.localeCompare(b, "en", { numeric: true });
  }

  // Makes a head a button; `onSort` gets the column and whether the highest comes first.
  function head(cells, leftOf, onSort) {
    let last = null;
    let falling = true;
    cells.forEach((cell, index) => {
      const button = page.make("button", cell.textContent);
      button.type = "button";
      cell.replaceChildren(button);
      button.addEventListener("click", () => {
        falling = last === index ? !falling : !leftOf(index);
        last = index;
        for (const other of cells) other.removeAttribute("aria-sort");
        cell.setAttribute("aria-sort", falling ? "descending" : "ascending");
        onSort(index, falling);
      });
    });
  }

  const keyOf = (cell) => {
    if (cell.dataset.key === undefined) return cell.textContent;
    return cell.dataset.key === "" ? "" : Number(cell.dataset.key);
  };

  function table(node) {
    const body = node.tBodies[0];
    const rows = [...body.rows];
    const cells = [...node.tHead.rows[0].cells];
    head(cells, (index) => cells[index].classList.contains("left"), (index, falling) => {
      const keyed = rows.map((row) => [keyOf(row.cells[index]), row]);
      keyed.sort((a, b) => compare(a[0], b[0], falling));
      body.replaceChildren(...keyed.map(([, row]) => row));
    });
  }

  document.querySelectorAll("table.sortable").forEach(table);
  return { compare, head };
})();
