"use strict";
// The report of captures: the table of connections to search and sort, and which of them is shown above it.
// Everything shown is put in as text, never as markup.
(() => {
  const { data, element, make } = page;
  const order = { field: null, falling: true };
  const plotted = new Map(data.plots.map((plot, index) => [plot.id, index]));
  const titles = data.fields.concat([{ title: "server name", left: true }]);
  let current = 0;

  const rowText = (row, field) => (field < row.cells.length ? row.cells[field] : row.name);
  const keyOf = (row) => row.keys[order.field] ?? rowText(row, order.field);

  function compare(a, b) {
    if (order.field === null) return a.place - b.place;
    return page.tables.compare(keyOf(a), keyOf(b), order.falling) || a.place - b.place;
  }

  function showRows() {
    const words = element("search").value.toLowerCase().split(/\s+/).filter(Boolean);
    const rows = data.rows.filter((row) => words.every((word) => row.text.includes(word))).sort(compare);
    element("shown").textContent = rows.length === data.rows.length ? "" : `${rows.length} of ${data.rows.length}`;
    element("connections").tBodies[0].replaceChildren(...rows.map(rowNode));
  }

  function rowNode(row) {
    const node = make("tr");
    titles.forEach((field, index) => node.append(make("td", rowText(row, index), field.left ? "left" : "")));
    if (plotted.has(row.id)) {
      const show = () => { choose(plotted.get(row.id)); element("plotted").scrollIntoView(); };
      node.classList.add("plotted");
      node.classList.toggle("current", data.plots[current]?.id === row.id);
      node.tabIndex = 0;
      node.title = "show its lanes";
      node.addEventListener("click", show);
      node.addEventListener("keydown", (event) => { if (event.key === "Enter") show(); });
    }
    return node;
  }

  function headNode() {
    const node = make("tr");
    titles.forEach((field) => node.append(make("th", field.title, field.left ? "left" : "")));
    page.tables.head([...node.cells], (index) => titles[index].left, (index, falling) => {
      order.field = index;
      order.falling = falling;
      showRows();
    });
    return node;
  }

  function choose(index) {
    current = index;
    element("chosen").value = String(index);
    const plot = data.plots[index];
    page.verdict.show(plot);
    page.packets.list(plot);
    page.lanes.show(plot);
    showRows();
  }

  data.rows.forEach((row, place) => {
    row.place = place;
    row.keys.push(null);
    row.text = row.cells.concat([row.name]).join(" ").toLowerCase();
  });
  element("connections").tHead.append(headNode());
  element("search").addEventListener("input", showRows);
  if (data.plots.length) {
    element("plotted").hidden = false;
    element("chosen").append(...data.plots.map((plot, index) => {
      const option = make("option", plot.title);
      option.value = String(index);
      return option;
    }));
    element("chosen").addEventListener("change", (event) => choose(Number(event.target.value)));
    choose(0);
  } else {
    showRows();
  }
})();
