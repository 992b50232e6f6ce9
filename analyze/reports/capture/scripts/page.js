"use strict";
// The report of captures: the table of connections to search and sort, and which of them is shown above it.
// Everything shown is put in as text, never as markup.
(() => {
  const { data, element, make, filterNode } = page;
  const plotted = new Map(data.plots.map((plot, index) => [plot.id, index]));
  const titles = data.fields;
  const names = titles.map((field) => field.title);
  const body = element("connections").tBodies[0];
  let current = 0;
  let shown = [];

  const pages = page.tables.paged(element("connections-bar"), (rows) => { shown = rows; showRows(); });
  pages.search.id = "search";
  pages.search.placeholder = "Search address, port, name, version ...";
  pages.search.setAttribute("aria-label", "Search connections");

  function showRows() {
    body.replaceChildren(...shown.map(rowNode));
    page.tables.label([...body.rows], names);
  }

  function rowNode(row) {
    const node = make("tr");
    titles.forEach((field, index) => node.append(make("td", row.cells[index], field.left ? "left" : "")));
    node.classList.toggle("plotted", plotted.has(row.id));
    node.classList.toggle("current", data.plots[current]?.id === row.id);
    node.tabIndex = 0;
    node.title = plotted.has(row.id) ? "show its lanes" : "not drawn in this page: shows the command that draws it";
    node.addEventListener("click", () => pick(row));
    node.addEventListener("keydown", (event) => { if (event.key === "Enter") pick(row); });
    return node;
  }

  // A connection whose data is here is shown; of another one the command that draws it.
  function pick(row) {
    element("not-drawn").hidden = plotted.has(row.id);
    if (plotted.has(row.id)) {
      choose(plotted.get(row.id));
      element("plotted").scrollIntoView();
      return;
    }
    const command = filterNode(`${data.command} ${row.id}`, "copy command");
    element("not-drawn").replaceChildren(`Connection ${row.id} is not drawn in this page. This draws it: `, command);
    element("not-drawn").scrollIntoView({ block: "nearest" });
  }

  function headNode() {
    const node = make("tr");
    titles.forEach((field) => node.append(make("th", field.title, field.left ? "left" : "")));
    page.tables.head([...node.cells], (index) => titles[index].left, (index, falling) => {
      const key = (row) => row.keys[index] ?? row.cells[index];
      const sorted = [...data.rows].sort((a, b) => page.tables.compare(key(a), key(b), falling) || a.place - b.place);
      pages.order(sorted);
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
    keep(null);
    showRows();
  }

  // The address names what is shown, to be sent on: #t=1.2-1.9&c=3, the stretch of time in seconds and the connection.
  function keep(view) {
    const parts = view === null ? [] : [`t=${[view.from, view.to].map((time) => Number(time.toFixed(6))).join("-")}`];
    if (view !== null || current !== 0) parts.push(`c=${data.plots[current].id}`);
    if (!parts.length && !location.hash) return;
    history.replaceState(null, "", parts.length ? `#${parts.join("&")}` : location.pathname + location.search);
  }

  function follow() {
    const asked = new URLSearchParams(location.hash.slice(1));
    const index = plotted.get(Number(asked.get("c"))) ?? 0;
    const [from, to] = (asked.get("t") ?? "").split("-").map(Number);
    choose(index);
    if (to > from) page.lanes.zoom(from, to);
  }

  data.rows.forEach((row, place) => { row.place = place; });
  element("connections").tHead.append(headNode());
  pages.fill(data.rows, (row) => row.cells.join(" "));
  page.overview.onPick(pick);
  if (data.plots.length) {
    element("plotted").hidden = false;
    element("chosen").append(...data.plots.map((plot, index) => {
      const option = make("option", plot.title);
      option.value = String(index);
      return option;
    }));
    element("chosen").addEventListener("change", (event) => choose(Number(event.target.value)));
    page.lanes.onView(keep);
    addEventListener("hashchange", follow);
    follow();
  }
})();
