"use strict";
// The report's behaviour: a table to search and sort, and the plots of the chosen connection.
// Everything shown is put in as text, never as markup.
(() => {
  const { data, element, make, plotText, dark, colour, themed } = page;

  // Table -----------------------------------------------------------------------------------------------------------
  const order = { field: null, falling: true };
  const plotted = new Map(data.plots.map((plot, index) => [plot.id, index]));
  const titles = data.fields.concat([{ title: "server name", left: true }]);

  function compare(a, b) {
    if (order.field === null) return a.place - b.place;
    const sign = order.falling ? -1 : 1;
    const [x, y] = [a, b].map((row) => row.keys[order.field]);
    if (typeof x === "number" && typeof y === "number") return sign * (x - y) || a.place - b.place;
    if (typeof x === "number" || typeof y === "number") return typeof x === "number" ? -1 : 1; // unmeasured last
    return sign * row_text(a, order.field).localeCompare(row_text(b, order.field), "en", { numeric: true });
  }
  const row_text = (row, field) => (field < row.cells.length ? row.cells[field] : row.name);

  function showRows() {
    const words = element("search").value.toLowerCase().split(/\s+/).filter(Boolean);
    const rows = data.rows.filter((row) => words.every((word) => row.text.includes(word))).sort(compare);
    element("shown").textContent = rows.length === data.rows.length ? "" : `${rows.length} of ${data.rows.length}`;
    element("connections").tBodies[0].replaceChildren(...rows.map(rowNode));
  }

  function rowNode(row) {
    const node = make("tr");
    titles.forEach((field, index) => node.append(make("td", row_text(row, index), field.left ? "left" : "")));
    if (plotted.has(row.id)) {
      const show = () => { choose(plotted.get(row.id)); element("plotted").scrollIntoView(); };
      node.classList.add("plotted");
      node.classList.toggle("current", data.plots[current]?.id === row.id);
      node.tabIndex = 0;
      node.title = "show its plots";
      node.addEventListener("click", show);
      node.addEventListener("keydown", (event) => { if (event.key === "Enter") show(); });
    }
    return node;
  }

  function headNode() {
    const node = make("tr");
    titles.forEach((field, index) => {
      const cell = make("th", undefined, field.left ? "left" : "");
      const button = make("button", field.title);
      button.addEventListener("click", () => {
        order.falling = order.field === index ? !order.falling : !field.left;
        order.field = index;
        for (const other of node.children) other.removeAttribute("aria-sort");
        cell.setAttribute("aria-sort", order.falling ? "descending" : "ascending");
        showRows();
      });
      cell.append(button);
      node.append(cell);
    });
    return node;
  }

  // Plots -----------------------------------------------------------------------------------------------------------
  let current = 0;

  function layout() {
    const count = data.panels.length;
    const gap = 0.035;
    const height = (1 - gap * (count - 1)) / count;
    const result = {
      margin: { l: 80, r: 20, t: 10, b: 50 }, hovermode: "closest", showlegend: true, dragmode: "zoom",
      legend: { orientation: "h", y: -0.05, yanchor: "top", font: { size: 12 } },
      paper_bgcolor: colour("--ground"), plot_bgcolor: colour("--ground"), font: { color: colour("--ink") },
      xaxis: {
        title: { text: "time since the connection's first packet" }, ticksuffix: "s", tickformat: "~s", anchor: `y${count}`,
        gridcolor: colour("--line"), zeroline: false, showspikes: true, spikemode: "across", spikethickness: 1, spikedash: "dot",
        spikecolor: colour("--faint"),
      },
    };
    data.panels.forEach((panel, index) => {
      const top = 1 - index * (height + gap);
      result[index ? `yaxis${index + 1}` : "yaxis"] = {
        title: { text: panel.title }, domain: [Math.max(0, top - height), top], type: panel.log ? "log" : "linear",
        rangemode: panel.log ? "normal" : "tozero", tickformat: "~s", ticksuffix: panel.unit, gridcolor: colour("--line"),
        zeroline: false, fixedrange: true, ...(panel.log ? { dtick: 1 } : {}),
      };
    });
    // The window's edge may be far above all that was sent: it must not press the transfer flat.
    const highest = data.plots[current].highest;
    if (highest > 0) result.yaxis.range = [0, highest * 1.1];
    return result;
  }

  function trace(series) {
    const panel = data.panels[series.panel];
    const axis = series.panel ? `y${series.panel + 1}` : "y";
    const look = series.mode === "lines" ? { line: themed(series.line) } : { marker: themed(series.marker) };
    return {
      type: "scatter", x: series.x, y: series.y, name: plotText(series.name), mode: series.mode, yaxis: axis, xaxis: "x",
      hovertemplate: `%{x:.6f} s, %{y:.4s}${panel.unit}`, ...look,
    };
  }

  function draw() {
    Plotly.react("plots", data.plots[current].traces.map(trace), layout(), { responsive: true, displaylogo: false,
      modeBarButtonsToRemove: ["select2d", "lasso2d", "sendDataToCloud"] });
  }

  function choose(index) {
    current = index;
    element("chosen").value = String(index);
    const plot = data.plots[index];
    element("facts").replaceChildren(...plot.facts.map(([name, value]) => {
      const pair = make("div");
      pair.append(make("dt", name), make("dd", value));
      return pair;
    }));
    element("ledger").replaceChildren(...plot.ledger.map((part) => {
      const bar = make("div");
      bar.style.background = part.colour;
      bar.style.width = `${part.share * 100}%`;
      bar.title = `${part.name}: ${part.text}`;
      return bar;
    }));
    element("ledger-key").replaceChildren(...plot.ledger.map((part) => {
      const item = make("li");
      const swatch = make("i");
      swatch.style.background = part.colour;
      item.append(swatch, `${part.name} ${part.text}`);
      return item;
    }));
    draw();
    showRows();
  }

  // Start -----------------------------------------------------------------------------------------------------------
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
    dark.addEventListener("change", draw);
    choose(0);
  } else {
    showRows();
  }
})();
