"use strict";
// Tables that are sorted by a click on a head, searched, and shown page by page where they are long.
// A cell's `data-key` is the number behind its text.
page.tables = (() => {
  const { make } = page;
  const LONG = 30; // rows from which on a table is shown page by page
  const narrow = matchMedia("(max-width: 40rem)");
  const perPage = () => (narrow.matches ? 10 : LONG);

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
      const button = make("button", cell.textContent);
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

  // A line over a table with a search, which rows are shown, and ways to the others. `show` gets the rows of a page.
  function paged(bar, show, size = perPage) {
    let [rows, at, texts, all] = [[], 0, new Map(), []];
    const search = make("input");
    search.type = "search";
    search.placeholder = "Search";
    search.setAttribute("aria-label", "Search this table");
    const told = make("output", undefined, "shown");
    const button = (text, title, act) => {
      const node = make("button", text);
      node.type = "button";
      node.title = title;
      node.setAttribute("aria-label", title);
      node.addEventListener("click", act);
      return node;
    };
    const before = button("◀", "rows before", () => go(at - size()));
    const after = button("▶", "more rows", () => go(at + size()));
    bar.append(search, before, told, after);

    function go(to) {
      at = Math.max(0, Math.min(to, Math.floor(Math.max(rows.length - 1, 0) / size()) * size()));
      const end = Math.min(at + size(), rows.length);
      const found = rows.length === all.length ? "" : ` found, of ${all.length.toLocaleString("en")}`;
      told.textContent = rows.length ? `${(at + 1).toLocaleString("en")} to ${end.toLocaleString("en")} of ${rows.length.toLocaleString("en")}${found}` : "nothing found";
      before.disabled = at === 0;
      after.disabled = end >= rows.length;
      before.hidden = after.hidden = rows.length <= size();
      show(rows.slice(at, end));
    }
    function find() {
      const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
      rows = words.length ? all.filter((row) => words.every((word) => texts.get(row).includes(word))) : all;
      go(0);
    }
    search.addEventListener("input", find);
    narrow.addEventListener("change", () => go(at));
    return {
      search,
      // All rows, and the text of each in which words are searched.
      fill: (given, textOf) => { all = given; texts = new Map(given.map((row) => [row, textOf(row).toLowerCase()])); find(); },
      order: (sorted) => { all = sorted; find(); },
      // Shows the page on which a row is.
      reveal: (row) => { if (!rows.includes(row)) { search.value = ""; find(); } go(Math.floor(rows.indexOf(row) / size()) * size()); },
    };
  }

  const keyOf = (cell) => {
    if (cell.dataset.key === undefined) return cell.textContent;
    return cell.dataset.key === "" ? "" : Number(cell.dataset.key);
  };

  // On a phone a row is a card: each cell carries the title of its column.
  function label(rows, titles) {
    if (!narrow.matches) return;
    for (const row of rows) [...row.cells].forEach((cell, index) => { cell.dataset.title = titles[index]; });
  }

  const byId = new Map();

  function table(node) {
    const body = node.tBodies[0];
    const rows = [...body.rows];
    const cells = [...node.tHead.rows[0].cells];
    const titles = cells.map((cell) => cell.textContent);
    const labelled = () => label([...body.rows], titles);
    narrow.addEventListener("change", labelled);
    labelled();
    if (!node.classList.contains("sortable")) return;
    const show = (shown) => { body.replaceChildren(...shown); labelled(); };
    let pages = null;
    if (rows.length > LONG) {
      const bar = make("div", undefined, "table-bar");
      node.parentElement.before(bar);
      pages = paged(bar, show);
      pages.fill(rows, (row) => row.textContent);
    }
    for (const row of rows) if (row.id) byId.set(row.id, { row, pages });
    head(cells, (index) => cells[index].classList.contains("left"), (index, falling) => {
      const keyed = rows.map((row) => [keyOf(row.cells[index]), row]);
      keyed.sort((a, b) => compare(a[0], b[0], falling));
      const sorted = keyed.map(([, row]) => row);
      if (pages) pages.order(sorted); else show(sorted);
    });
  }

  // Brings a row into sight, wherever it is.
  function show(id) {
    const found = byId.get(id);
    if (!found) return;
    found.pages?.reveal(found.row);
    for (let around = found.row.parentElement; around; around = around.parentElement) if (around.tagName === "DETAILS") around.open = true;
    document.querySelectorAll("tr.current").forEach((row) => row.classList.remove("current"));
    found.row.classList.add("current");
    found.row.scrollIntoView({ block: "center" });
  }

  document.querySelectorAll("main table").forEach((node) => { if (node.tHead && node.tHead.rows.length && node.tBodies.length) table(node); });
  return { compare, head, paged, label, show };
})();
